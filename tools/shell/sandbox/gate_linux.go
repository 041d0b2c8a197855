package sandbox

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gate answers what the filter asks: may this process fork, may it change the
// mode of that file, may it signal that process. A change of a file is made by
// the gate itself, on the very file that it has looked at, so that nothing can
// be swapped in between.
type gate struct {
	listener int
	roots    []string
	most     int         // processes and threads
	left     int         // how many may start before they are counted again
	door     *door       // nil: no way to the network
	closed   atomic.Bool // nothing starts any more
}

func newGate(listener int, j job, d *door) *gate {
	return &gate{listener: listener, roots: j.Write, most: j.Limits.Procs, door: d}
}

// shut stops every further fork; a nil gate has nothing to shut.
func (g *gate) shut() {
	if g != nil {
		g.closed.Store(true)
	}
}

// request and reply are struct seccomp_notif and struct seccomp_notif_resp of
// linux/seccomp.h.
type request struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// run answers until no process is left under the filter. It changes files with
// no more rights than the command has.
func (g *gate) run() {
	runtime.LockOSThread() // the thread ends with run: its capabilities are gone
	defer unix.Close(g.listener)
	defer g.door.close()
	if err := dropOwnCapabilities(); err != nil {
		return // the command is refused whatever it asks
	}
	for {
		ready := []unix.PollFd{{Fd: int32(g.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		switch {
		case ready[0].Revents&unix.POLLIN != 0:
			g.answer()
		case ready[0].Revents != 0:
			return
		}
	}
}

func (g *gate) answer() {
	var req request
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(g.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&req))); e != 0 {
		return // whoever asked is gone
	}
	rep := reply{id: req.id}
	val, err := g.decide(&req)
	switch {
	case err == nil:
		rep.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	case errors.Is(err, errDone):
		rep.val = val
	default:
		var no unix.Errno
		if !errors.As(err, &no) {
			no = unix.EPERM
		}
		rep.err = -int32(no)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(g.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&rep))) // gone meanwhile: fine
}

// errDone says that the gate has done it.
var errDone = errors.New("done")

// decide returns nil when the kernel is to go on with the call: only for calls
// whose arguments all stand in registers, since memory could change.
func (g *gate) decide(req *request) (val int64, err error) {
	q := &question{gate: g, id: req.id, pid: int(req.pid), nr: uint32(req.nr), args: req.args}
	switch {
	case isFork(req.nr):
		return 0, g.fork()
	case isSignal(req.nr):
		return 0, signalAllowed(req)
	case isSocketCall(req.nr):
		if val, err = g.door.answer(q); err == nil {
			err = errDone
		}
		return val, err
	}
	return 0, q.answer()
}

func isFork(nr int32) bool {
	for _, f := range append(oldForks(), unix.SYS_CLONE) {
		if int32(f) == nr {
			return true
		}
	}
	return false
}

// fork counts. Looking at all processes is slow, so it is done only when as
// many have started as had room when it was done last.
func (g *gate) fork() error {
	if g.closed.Load() {
		return unix.EAGAIN
	}
	if g.left <= 0 {
		g.left = g.most
		for _, p := range descendants(os.Getpid()) {
			g.left -= p.threads
		}
	}
	if g.left <= 0 {
		return unix.EAGAIN
	}
	g.left--
	return nil
}

func isSignal(nr int32) bool {
	switch nr {
	case unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO:
		return true
	}
	return false
}

// signalAllowed says whether a signal stays among the command's processes.
func signalAllowed(req *request) error {
	to := int(int32(req.args[0]))
	if to == 0 && req.nr == unix.SYS_KILL {
		return nil // its own group, which holds nobody else
	}
	for _, p := range descendants(os.Getpid()) {
		if p.pid == to || req.nr == unix.SYS_KILL && to < -1 && p.group == -to {
			return nil
		}
	}
	if req.nr == unix.SYS_TKILL && to > 0 && threadOf(to, descendants(os.Getpid())) {
		return nil
	}
	return unix.EPERM
}

func threadOf(tid int, all []process) bool {
	for _, p := range all {
		if _, err := os.Stat(taskPath(p.pid, tid)); err == nil {
			return true
		}
	}
	return false
}
