package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	// lastCall is the newest system call that this package knows; later ones
	// are answered as if the kernel were older.
	lastCall = unix.SYS_FILE_SETATTR
	setTimes = unix.SYS_UTIMENSAT
)

// This architecture has none of the old calls.

func oldFileCalls() []uint32   { return nil }
func oldOpens() []uint32       { return nil }
func oldMakes() map[uint32]int { return nil }
func oldForks() []uint32       { return nil }
func oldFcntls() []uint32      { return nil }
func privateCalls() []uint32   { return nil }
func oldFileCall(*question)    {}

func moreForbidden() []uint32 {
	return []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_MEMFD_SECRET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_LOOKUP_DCOOKIE}
}
