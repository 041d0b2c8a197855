package sandbox

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Refuse has one system call answered with an error in this process and all
// that it starts, as kernels and containers do.
func Refuse(nr uint32, e syscall.Errno) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := &filter{code: []unix.SockFilter{load(atNumber)}}
	f.on(nr, give(with(e)))
	f.code = append(f.code, give(allow))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	_, _, failed := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if failed != 0 {
		return fmt.Errorf("filter: %w", failed)
	}
	return nil
}
