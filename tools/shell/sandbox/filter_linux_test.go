package sandbox

import (
	"encoding/binary"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// run is what the kernel would do: the answer of a filter to a call.
func (f *filter) run(t *testing.T, arch, nr uint32, args ...uint32) uint32 {
	t.Helper()
	var raw []bpf.RawInstruction
	for _, i := range f.code {
		raw = append(raw, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	code, known := bpf.Disassemble(raw)
	if !known {
		t.Fatal("an instruction that nobody knows")
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	word := binary.BigEndian.PutUint32 // as packets have it; the kernel takes the machine's own order
	word(data[atNumber:], nr)
	word(data[atArch:], arch)
	for i, a := range args {
		word(data[atArgs+8*i:], a)
	}
	answer, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(answer)
}

// What the filter answers on this processor. deploy/check-cpu.sh runs it for the
// others, too.
func TestFilter(t *testing.T) {
	if auditArch == 0 {
		t.Skip("there is no filter for this processor")
	}
	no := func(e syscall.Errno) uint32 { return with(e) }
	type call struct {
		name string
		nr   uint32
		args []uint32
		want uint32
	}
	calls := []call{
		{"read", unix.SYS_READ, nil, allow},
		{"execve", unix.SYS_EXECVE, nil, allow},
		{"ftruncate", unix.SYS_FTRUNCATE, nil, allow},
		{"newer than all known", lastCall + 1, nil, no(unix.ENOSYS)},
		{"x32", 0x40000000, nil, no(unix.ENOSYS)},
		{"socket of the network", unix.SYS_SOCKET, []uint32{unix.AF_INET6}, allow},
		{"socket of the machine", unix.SYS_SOCKET, []uint32{unix.AF_UNIX}, no(unix.EAFNOSUPPORT)},
		{"pair of streams", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow},
		{"pair of datagrams", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, no(unix.EPERM)},
		{"pair of raw ones", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_RAW}, no(unix.EPERM)},
		{"pair of rare ones", unix.SYS_SOCKETPAIR, []uint32{unix.AF_TIPC, unix.SOCK_STREAM}, no(unix.EPERM)},
		{"list of addresses", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{"letters of netlink", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_USERSOCK}, no(unix.EAFNOSUPPORT)},
		{"own priority", unix.SYS_SETPRIORITY, []uint32{0, 0, 5}, allow},
		{"own group's priority", unix.SYS_SETPRIORITY, []uint32{1, 0, 5}, allow},
		{"the user's priority", unix.SYS_SETPRIORITY, []uint32{2, 0, 5}, no(unix.EPERM)},
		{"another's priority", unix.SYS_SETPRIORITY, []uint32{0, 7, 5}, no(unix.EPERM)},
		{"own disk priority", unix.SYS_IOPRIO_SET, []uint32{2, 0, 5}, allow},
		{"the user's disk priority", unix.SYS_IOPRIO_SET, []uint32{3, 0, 5}, no(unix.EPERM)},
		{"new file", unix.SYS_OPENAT, []uint32{3, 0, unix.O_CREAT, 0o1644}, allow},
		{"special file", unix.SYS_OPENAT, []uint32{3, 0, unix.O_CREAT, 0o4755}, no(unix.EPERM)},
		{"special file without name", unix.SYS_OPENAT, []uint32{3, 0, unix.O_TMPFILE | unix.O_RDWR, 0o2755}, no(unix.EPERM)},
		{"no new file", unix.SYS_OPENAT, []uint32{3, 0, unix.O_RDWR, 0o7777}, allow},
		{"openat2", unix.SYS_OPENAT2, nil, no(unix.ENOSYS)},
		{"special node", unix.SYS_MKNODAT, []uint32{3, 0, unix.S_IFREG | 0o4755}, no(unix.EPERM)},
		{"folder", unix.SYS_MKDIRAT, []uint32{3, 0, 0o1777}, allow},
		{"memory of nobody", unix.SYS_MEMFD_CREATE, nil, no(unix.ENOSYS)},
		{"fork", unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, ask},
		{"namespace", unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER}, no(unix.EPERM)},
		{"clone3", unix.SYS_CLONE3, nil, no(unix.ENOSYS)},
		{"own limits", unix.SYS_PRLIMIT64, []uint32{0}, allow},
		{"limits of others", unix.SYS_PRLIMIT64, []uint32{1}, no(unix.EPERM)},
		{"chattr", unix.SYS_IOCTL, []uint32{3, 0x40086602}, no(unix.EPERM)},
		{"chattr of 32 bits", unix.SYS_IOCTL, []uint32{3, 0x40046602}, no(unix.EPERM)},
		{"input for a terminal", unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, no(unix.EPERM)},
		{"size of a terminal", unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, allow},
		{"xattr", unix.SYS_SETXATTR, nil, no(unix.EOPNOTSUPP)},
		{"ptrace", unix.SYS_PTRACE, nil, no(unix.EPERM)},
		{"mount", unix.SYS_MOUNT, nil, no(unix.EPERM)},
		{"semaphores", unix.SYS_SEMOP, nil, no(unix.EPERM)},
		{"another kernel", unix.SYS_KEXEC_FILE_LOAD, nil, no(unix.EPERM)},
		{"kill", unix.SYS_KILL, []uint32{1}, ask},
		{"signals by a file", unix.SYS_FCNTL, []uint32{3, unix.F_SETOWN}, no(unix.EPERM)},
		{"flags of a file", unix.SYS_FCNTL, []uint32{3, unix.F_GETFL}, allow},
	}
	add := func(name string, numbers []uint32, want uint32, args ...uint32) {
		for _, nr := range numbers {
			calls = append(calls, call{name, nr, args, want})
		}
	}
	add("file", append(fileCalls(), oldFileCalls()...), ask)
	add("old fork", oldForks(), ask)
	add("old fcntl", oldFcntls(), no(unix.EPERM), 3, unix.F_SETOWN_EX)
	add("old fcntl", oldFcntls(), allow, 3, unix.F_SETLK)
	add("private", privateCalls(), allow)
	add("forbidden", forbidden(), no(unix.EPERM))
	f := newFilter(job{ABI: 1, Network: Open})
	for _, c := range calls {
		if got := f.run(t, auditArch, c.nr, c.args...); got != c.want {
			t.Errorf("%s (%d): %#x, want %#x", c.name, c.nr, got, c.want)
		}
		if got := f.run(t, auditArch^1, c.nr, c.args...); got != no(unix.ENOSYS) {
			t.Errorf("%s (%d) of another architecture: %#x", c.name, c.nr, got)
		}
	}
	if newest := newFilter(job{ABI: abiScope, Network: Open}); newest.run(t, auditArch, unix.SYS_KILL, 1) != allow {
		t.Error("a signal is asked about although Landlock guards it")
	}
	if counter := newCounter(job{Network: Open}); counter.run(t, auditArch, unix.SYS_CLONE, unix.CLONE_NEWUSER) != ask || counter.run(t, auditArch, unix.SYS_PTRACE) != allow {
		t.Error("the filter for bwrap does more than counting forks, or less")
	}
}
