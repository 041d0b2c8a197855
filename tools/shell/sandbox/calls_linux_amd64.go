package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// lastCall is the newest system call that this package knows; later ones
	// are answered as if the kernel were older.
	lastCall = unix.SYS_FILE_SETATTR
	setTimes = unix.SYS_UTIMENSAT
)

// The calls that newer architectures do not have.

func oldFileCalls() []uint32 {
	return []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
}

func oldOpens() []uint32 { return []uint32{unix.SYS_OPEN} }
func oldMakes() map[uint32]int {
	return map[uint32]int{unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1, unix.SYS_MKDIR: 1}
}

func oldForks() []uint32 { return []uint32{unix.SYS_FORK, unix.SYS_VFORK} }

func oldFcntls() []uint32    { return nil }
func privateCalls() []uint32 { return nil }

func moreForbidden() []uint32 {
	return []uint32{
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_MEMFD_SECRET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_CREATE_MODULE, unix.SYS_USELIB, unix.SYS_LOOKUP_DCOOKIE,
	}
}

// oldFileCall writes an old call as the new one it is a case of.
func oldFileCall(q *question) {
	switch q.nr {
	case unix.SYS_CHMOD:
		q.become(unix.SYS_FCHMODAT, atCwd, q.args[0], q.args[1])
	case unix.SYS_CHOWN:
		q.become(unix.SYS_FCHOWNAT, atCwd, q.args[0], q.args[1], q.args[2])
	case unix.SYS_LCHOWN:
		q.become(unix.SYS_FCHOWNAT, atCwd, q.args[0], q.args[1], q.args[2], unix.AT_SYMLINK_NOFOLLOW)
	case unix.SYS_UTIME:
		q.become(unix.SYS_UTIMENSAT, atCwd, q.args[0], q.args[1])
		q.times = wholeSeconds
	case unix.SYS_UTIMES:
		q.become(unix.SYS_UTIMENSAT, atCwd, q.args[0], q.args[1])
		q.times = microseconds
	case unix.SYS_FUTIMESAT:
		q.become(unix.SYS_UTIMENSAT, q.args[0], q.args[1], q.args[2])
		q.times = microseconds
	}
}
