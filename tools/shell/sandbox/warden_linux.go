package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The files a helper inherits.
const (
	jobFile = 3 // the job; its end is the order to stop
	endFile = 4 // where the ending goes
	netFile = 5 // where connections of a guarded command go
)

// askToEnd is a byte behind the job: the command is to end by itself. The line
// end of the job is none.
const askToEnd = 'T'

// pollTime is how often the warden looks for processes to kill while some are
// left: they go at once, unless the machine is busy.
const pollTime = 2 * time.Millisecond

// guardCommand is the life of a warden.
func guardCommand() {
	unix.CloseOnExec(jobFile)
	unix.CloseOnExec(endFile)
	unix.CloseOnExec(netFile)
	// A stop of the whole service reaches the warden too. The bot will tell
	// it what to do; a signal that is ignored would be ignored by the command.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	end, err := runJob()
	if err != nil {
		end = ending{Err: err.Error()}
	}
	_ = json.NewEncoder(os.NewFile(endFile, "end")).Encode(end) // nobody listens: the bot is gone
}

func runJob() (ending, error) {
	life := os.NewFile(jobFile, "job")
	var j job
	if err := json.NewDecoder(life).Decode(&j); err != nil {
		return ending{}, fmt.Errorf("read the job: %w", err)
	}
	// Whatever loses its parent becomes the warden's child, not init's.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return ending{}, fmt.Errorf("become the parent of orphans: %w", err)
	}
	stop := make(chan struct{})
	w := &warden{job: j, gone: make(chan struct{}), ended: make(chan syscall.WaitStatus, 1)}
	go func() { // ends with the process
		defer close(stop)
		order := make([]byte, 1)
		for {
			if n, err := life.Read(order); err != nil {
				return
			} else if n == 1 && order[0] == askToEnd {
				w.signal(syscall.SIGTERM)
			}
		}
	}()
	return w.run(stop)
}

// warden looks after one command.
type warden struct {
	job   job
	gate  *gate // nil: there is no filter
	door  *door // nil: the network is not guarded
	first int   // the command's first process
	ended chan syscall.WaitStatus
	gone  chan struct{} // closed when no child is left

	mu sync.Mutex // held while a child is reaped or killed, so that its number is not another's
}

func (w *warden) run(stop <-chan struct{}) (end ending, err error) {
	if w.door, err = openDoor(w.job); err != nil {
		return end, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return end, fmt.Errorf("make a socket: %w", err)
	}
	w.first, err = syscall.ForkExec("/proc/self/exe", []string{helperName}, &syscall.ProcAttr{
		Env: []string{helperVariable + "=" + confineRole}, Dir: "/",
		Files: []uintptr{0, 1, 2, uintptr(pair[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	unix.Close(pair[1])
	if err != nil {
		return end, fmt.Errorf("start the helper: %w", err)
	}
	go w.reap()
	refused := make(chan error, 1)
	go func() { refused <- w.prepare(os.NewFile(uintptr(pair[0]), "helper")) }()
	select {
	case status := <-w.ended:
		end.Outcome = outcome(status)
	case <-stop:
		end.Err = "stopped"
	}
	if !w.killAll() {
		end.Err = "processes of the command cannot be killed"
	}
	if why := <-refused; why != nil && end.Err == "" {
		end.Err = why.Error()
	}
	return end, nil
}

// prepare tells the helper its job, takes over the filter's listener and waits
// until the helper has become the command.
func (w *warden) prepare(sock *os.File) error {
	defer sock.Close()
	raw, err := json.Marshal(w.job)
	if err != nil {
		return fmt.Errorf("write the job: %w", err)
	}
	// Nothing after the last bracket: what is not read would reset the
	// connection when the helper becomes the command.
	if _, err := sock.Write(raw); err != nil {
		return fmt.Errorf("tell the helper its job: %w", err)
	}
	listener, said, err := receiveFile(int(sock.Fd())) // none when there is no filter
	if err != nil {
		return fmt.Errorf("take over the filter: %w", err)
	}
	if listener >= 0 {
		w.mu.Lock()
		w.gate = newGate(listener, w.job, w.door)
		w.mu.Unlock()
		go w.gate.run() // ends when the last process under the filter does
	}
	more, err := io.ReadAll(io.LimitReader(sock, 4<<10))
	if said = append(said, more...); len(said) > 0 {
		return errors.New(string(said))
	}
	return err
}

// reap takes in every child until there is none.
func (w *warden) reap() {
	defer close(w.gone)
	for {
		// Look first without taking, so that the number stays taken until the
		// lock is held.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		w.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		w.mu.Unlock()
		if err == nil && pid == w.first {
			w.ended <- status
		}
	}
}

// killAll kills what is left of the command and says whether all is gone.
func (w *warden) killAll() bool {
	late := time.NewTimer(killTime)
	defer late.Stop()
	again := time.NewTicker(pollTime)
	defer again.Stop()
	for {
		w.mu.Lock()
		w.gate.shut()
		w.mu.Unlock()
		w.signal(syscall.SIGKILL)
		select {
		case <-w.gone:
			return true
		case <-late.C:
			return false
		case <-again.C:
		}
	}
}

// signal reaches all processes of the command.
func (w *warden) signal(what syscall.Signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range descendants(os.Getpid()) {
		_ = syscall.Kill(p.pid, what) // gone already: fine
	}
}

func outcome(status syscall.WaitStatus) Outcome {
	if status.Signaled() {
		return Outcome{Code: -1, Signal: status.Signal().String()}
	}
	return Outcome{Code: status.ExitStatus()}
}
