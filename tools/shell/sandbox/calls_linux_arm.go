package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_ARM
	// lastCall is the newest system call that this package knows; later ones
	// are answered as if the kernel were older.
	lastCall = unix.SYS_FILE_SETATTR
	setTimes = unix.SYS_UTIMENSAT_TIME64
)

// The calls that newer architectures do not have. Some exist twice: for owners
// of 16 bits and of 32, for lengths and times of 32 bits and of 64.

func oldFileCalls() []uint32 {
	return []uint32{
		unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_CHOWN32, unix.SYS_LCHOWN, unix.SYS_LCHOWN32, unix.SYS_FCHOWN32, unix.SYS_TRUNCATE64,
		unix.SYS_UTIMES, unix.SYS_FUTIMESAT, unix.SYS_UTIMENSAT_TIME64,
	}
}

func oldOpens() []uint32 { return []uint32{unix.SYS_OPEN} }
func oldMakes() map[uint32]int {
	return map[uint32]int{unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1, unix.SYS_MKDIR: 1}
}

func oldForks() []uint32  { return []uint32{unix.SYS_FORK, unix.SYS_VFORK} }
func oldFcntls() []uint32 { return []uint32{unix.SYS_FCNTL64} }

// privateCalls are numbered beyond all others (linux/arch/arm/include/uapi/asm/unistd.h):
// a break point, flushing a cache, and where a thread keeps what is its own. No
// program runs without them.
func privateCalls() []uint32 { return []uint32{0xf0001, 0xf0002, 0xf0005, 0xf0006} }

func moreForbidden() []uint32 {
	return []uint32{
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_USELIB, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_CLOCK_SETTIME64, unix.SYS_SEMTIMEDOP_TIME64,
		unix.SYS_PCICONFIG_IOBASE, unix.SYS_PCICONFIG_READ, unix.SYS_PCICONFIG_WRITE,
	}
}

// oldFileCall writes an old call as the new one it is a case of.
func oldFileCall(q *question) {
	a := q.args
	switch q.nr {
	case unix.SYS_CHMOD:
		q.become(unix.SYS_FCHMODAT, atCwd, a[0], a[1])
	case unix.SYS_CHOWN:
		q.become(unix.SYS_FCHOWNAT, atCwd, a[0], owner(a[1]), owner(a[2]))
	case unix.SYS_CHOWN32:
		q.become(unix.SYS_FCHOWNAT, atCwd, a[0], a[1], a[2])
	case unix.SYS_LCHOWN:
		q.become(unix.SYS_FCHOWNAT, atCwd, a[0], owner(a[1]), owner(a[2]), unix.AT_SYMLINK_NOFOLLOW)
	case unix.SYS_LCHOWN32:
		q.become(unix.SYS_FCHOWNAT, atCwd, a[0], a[1], a[2], unix.AT_SYMLINK_NOFOLLOW)
	case unix.SYS_FCHOWN:
		q.become(unix.SYS_FCHOWN, a[0], owner(a[1]), owner(a[2]))
	case unix.SYS_FCHOWN32:
		q.become(unix.SYS_FCHOWN, a[0], a[1], a[2])
	case unix.SYS_TRUNCATE:
		q.become(unix.SYS_TRUNCATE, a[0], uint64(int32(a[1])))
	case unix.SYS_TRUNCATE64: // a pair of registers begins at an even one
		q.become(unix.SYS_TRUNCATE, a[0], a[2]|a[3]<<32)
	case unix.SYS_UTIMES:
		q.become(unix.SYS_UTIMENSAT, atCwd, a[0], a[1])
		q.times = shortMicroseconds
	case unix.SYS_FUTIMESAT:
		q.become(unix.SYS_UTIMENSAT, a[0], a[1], a[2])
		q.times = shortMicroseconds
	case unix.SYS_UTIMENSAT:
		q.times = shortNanoseconds
	case unix.SYS_UTIMENSAT_TIME64:
		q.become(unix.SYS_UTIMENSAT, a[0], a[1], a[2], a[3])
	}
}

// owner widens a user or group of 16 bits; the last one means none.
func owner(id uint64) uint64 {
	if id &= 0xffff; id == 0xffff {
		return 0xffffffff
	}
	return id
}
