package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// wardenSocket is where the confining helper hears from its warden.
const wardenSocket = 3

// confine is the life of the helper that becomes the command. It returns only
// when that failed.
func confine() {
	keepFiles()
	err := becomeCommand()
	_, _ = unix.Write(wardenSocket, []byte(err.Error())) // no warden, no one to tell
	os.Exit(1)
}

// keepFiles keeps open files from the command, also those that the bot itself
// has inherited from whoever started it.
func keepFiles() {
	if unix.CloseRange(wardenSocket, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	const most = 1 << 16 // before Linux 5.11: one by one
	for fd := wardenSocket; fd < most; fd++ {
		unix.CloseOnExec(fd)
	}
}

func becomeCommand() error {
	var j job
	if err := json.NewDecoder(os.NewFile(uintptr(dup(wardenSocket)), "warden")).Decode(&j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	// Out of memory: the command dies first, not the bot.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // a nicety
	if err := os.Chdir(j.Dir); err != nil {
		return fmt.Errorf("enter the working folder: %w", err)
	}
	var prepared *filter
	if j.Kind == Landlock {
		if err := dropCapabilities(); err != nil {
			return err
		}
		if err := restrictPaths(j); err != nil {
			return err
		}
		prepared = newFilter(j)
	}
	if j.Kind == Bwrap && j.Counts {
		// What a filter asks of who is not root; bwrap does it later anyway.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("give up new privileges: %w", err)
		}
		prepared = newCounter(j)
	}
	if err := limit(j); err != nil {
		return err
	}
	if prepared != nil {
		if err := prepared.install(wardenSocket); err != nil {
			return err
		}
	}
	if j.Reach != nil {
		if err := dropOwnCapabilities(); err != nil { // as bwrap does
			return err
		}
		tryReach(j.Reach)
		os.Exit(0)
	}
	err := syscall.Exec(j.Args[0], j.Args, j.Env)
	return fmt.Errorf("start %s: %w", j.Args[0], err)
}

func dup(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fd
	}
	return n
}

// limit sets what each process of the command may use. Memory comes last: it
// binds this process, too.
func limit(j job) error {
	l := j.Limits
	seconds := uint64(max(1, int64(l.CPU.Seconds())))
	type bound struct {
		what    string
		of      int
		soft, h uint64
	}
	all := []bound{
		{"core dumps", unix.RLIMIT_CORE, 0, 0},
		{"processor time", unix.RLIMIT_CPU, seconds, seconds + 5},
		{"file size", unix.RLIMIT_FSIZE, uint64(l.File), uint64(l.File)},
		{"open files", unix.RLIMIT_NOFILE, uint64(l.Files), uint64(l.Files)},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0, 0},
		{"memory", unix.RLIMIT_DATA, uint64(l.Data), uint64(l.Data)},
	}
	for _, b := range all {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(b.of, &now); err != nil {
			return fmt.Errorf("read the limit of %s: %w", b.what, err)
		}
		want := syscall.Rlimit{Cur: min(b.soft, now.Max), Max: min(b.h, now.Max)}
		if err := syscall.Setrlimit(b.of, &want); err != nil {
			return fmt.Errorf("limit %s: %w", b.what, err)
		}
	}
	return nil
}

// dropCapabilities gives up for good what root has over other users; others
// have nothing to give up. It is about the calling thread, which becomes the
// command.
func dropCapabilities() error {
	const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // SECBIT_NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off, NO_CAP_AMBIENT_RAISE, all locked (capabilities(7))
	for c := uintptr(0); c < 64; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // past the last one
		}
		if has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("lock capabilities: %w", err)
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // older kernels have none
	return dropOwnCapabilities()
}

// dropOwnCapabilities gives up those of the calling thread only.
func dropOwnCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	runtime.KeepAlive(&none)
	return nil
}
