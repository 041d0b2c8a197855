package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	// lastCall is the newest system call that this package knows; later ones
	// are answered as if the kernel were older.
	lastCall = unix.SYS_FILE_SETATTR
)

// This architecture has none of the old calls.

func oldFileCalls() []uint32 { return nil }
func oldForks() []uint32     { return nil }
func oldForbidden() []uint32 { return []uint32{unix.SYS_LOOKUP_DCOOKIE} }
func oldFileCall(*question)  {}
