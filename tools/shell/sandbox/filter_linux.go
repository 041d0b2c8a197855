package sandbox

import (
	"fmt"
	"maps"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filter is a program for seccomp(2) that the kernel runs before every system
// call. It closes what Landlock leaves open: changing the mode, owner and
// times of files, sockets of other programs, other processes of the same user,
// and forks without end. What depends on a path or on a count it hands to the
// warden (see gate).
type filter struct {
	code []unix.SockFilter
}

// What a system call gets.
const (
	allow  uint32 = unix.SECCOMP_RET_ALLOW
	ask    uint32 = unix.SECCOMP_RET_USER_NOTIF // the warden
	refuse uint32 = unix.SECCOMP_RET_ERRNO
)

func with(e syscall.Errno) uint32 { return refuse | uint32(e) }

// Offsets in struct seccomp_data (seccomp(2)).
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16 // six of eight bytes, little endian
)

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func loadArg(n int) unix.SockFilter { return load(atArgs + 8*uint32(n)) }

func give(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// jump skips yes or no instructions.
func jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

// on runs body for one system call; body must end with a give on every way, or
// leave the number of the call to be loaded again.
func (f *filter) on(nr uint32, body ...unix.SockFilter) {
	f.code = append(f.code, jump(unix.BPF_JEQ, nr, 0, uint8(len(body))))
	f.code = append(f.code, body...)
}

func (f *filter) each(numbers []uint32, action uint32) {
	for _, nr := range numbers {
		f.on(nr, give(action))
	}
}

// newFilter builds the program. From abiScope on Landlock guards other processes
// from signals itself.
func newFilter(j job) *filter {
	f := begun()
	f.files(j)
	f.sockets(j.Network)
	f.network(j)
	f.forks()
	f.others()
	f.each(append(fileCalls(), oldFileCalls()...), ask)
	if j.ABI < abiScope {
		f.signals()
	}
	f.each([]uint32{
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	}, with(unix.EOPNOTSUPP))
	f.each([]uint32{unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK}, with(unix.ENOSPC))
	f.modes()
	// What memfd_create makes counts as nobody's memory; a file in TMPDIR does as well.
	f.each([]uint32{unix.SYS_MEMFD_CREATE}, with(unix.ENOSYS))
	f.each(append(rings(), unix.SYS_CLONE3), with(unix.ENOSYS))
	f.each(forbidden(), with(unix.EPERM))
	f.code = append(f.code, give(allow))
	return f
}

// newCounter builds the program for bwrap, which is a wall without one: it has
// the warden count forks, those into namespaces too, which bwrap is made of, and guards the network.
func newCounter(j job) *filter {
	f := begun()
	f.modes()
	if j.Network != Open {
		f.files(j)
		f.sockets(j.Network)
		f.network(j)
		f.each(rings(), with(unix.ENOSYS))
	}
	f.each(append(oldForks(), unix.SYS_CLONE), ask)
	f.each([]uint32{unix.SYS_CLONE3}, with(unix.ENOSYS))
	f.code = append(f.code, give(allow))
	return f
}

// begun is a program that knows calls of this architecture only: others have
// other numbers.
func begun() *filter {
	f := &filter{code: []unix.SockFilter{
		load(atArch), jump(unix.BPF_JEQ, auditArch, 1, 0), give(with(unix.ENOSYS)), load(atNumber),
	}}
	f.each(privateCalls(), allow)
	f.code = append(f.code, jump(unix.BPF_JGT, lastCall, 0, 1), give(with(unix.ENOSYS))) // also x32's numbers
	return f
}

// sockets lets a command speak to the network and to itself. A socket of the
// machine (docker, D-Bus, an ssh agent, the hypervisor) would lead out.
func (f *filter) sockets(n Network) {
	internet := allow
	switch n {
	case Guarded:
		internet = ask
	case None:
		internet = with(unix.EACCES)
	}
	f.on(
		unix.SYS_SOCKET, loadArg(0),
		jump(unix.BPF_JEQ, unix.AF_INET, 6, 0), jump(unix.BPF_JEQ, unix.AF_INET6, 5, 0), jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 2),
		// Of netlink only what lists addresses: by others processes could write to one another.
		loadArg(2), jump(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1, 0),
		give(with(unix.EAFNOSUPPORT)), give(allow), give(internet),
	)
	// A pair without connection could be connected to somebody else: datagrams,
	// and what the kernel takes for them (SOCK_RAW).
	const kind = 0xf
	f.on(
		unix.SYS_SOCKETPAIR, loadArg(0), jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 4),
		loadArg(1), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: kind},
		jump(unix.BPF_JEQ, unix.SOCK_STREAM, 2, 0), jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 1, 0),
		give(with(unix.EPERM)), give(allow),
	)
}

// files has the warden make sockets of files, which it connects to nobody.
func (f *filter) files(j job) {
	if j.Sockets && j.Network == Guarded {
		f.on(unix.SYS_SOCKET, loadArg(0), jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), give(ask), load(atNumber))
	}
}

// network has the warden connect what a guarded command connects. What connects
// while it sends (TCP Fast Open) nobody would be asked about.
func (f *filter) network(j job) {
	if j.Network != Guarded {
		return
	}
	listens := with(unix.EACCES)
	if j.Listen || j.Sockets {
		listens = ask
	}
	f.each([]uint32{unix.SYS_CONNECT}, ask)
	f.each([]uint32{unix.SYS_LISTEN}, listens)
	for nr, flags := range map[uint32]int{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
		f.on(nr, loadArg(flags), jump(unix.BPF_JSET, unix.MSG_FASTOPEN, 0, 1), give(with(unix.EOPNOTSUPP)), give(allow))
	}
}

// rings are calls that make others without anybody seeing them.
func rings() []uint32 {
	return []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}
}

// forks has every new process and thread counted. clone3 hides its flags in
// memory; the C library falls back to clone.
func (f *filter) forks() {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	f.on(unix.SYS_CLONE, loadArg(0), jump(unix.BPF_JSET, namespaces, 0, 1), give(with(unix.EPERM)), give(ask))
	f.each(oldForks(), ask)
}

// others keeps a command from the limits and the scheduling of processes that
// are not its own: the argument that names a process must be 0, itself.
func (f *filter) others() {
	arg := func(nr uint32, n int) {
		f.on(nr, loadArg(n), jump(unix.BPF_JEQ, 0, 1, 0), give(with(unix.EPERM)), give(allow))
	}
	for _, nr := range []uint32{
		unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
	} {
		arg(nr, 0)
	}
	// Itself or its group, of which nobody else is; not all of the user.
	group := func(nr, process uint32) {
		f.on(
			nr, loadArg(1), jump(unix.BPF_JEQ, 0, 0, 3),
			loadArg(0), jump(unix.BPF_JEQ, process, 2, 0), jump(unix.BPF_JEQ, process+1, 1, 0),
			give(with(unix.EPERM)), give(allow),
		)
	}
	const prioProcess, ioprioProcess = 0, 1 // setpriority(2), ioprio_set(2)
	group(unix.SYS_SETPRIORITY, prioProcess)
	group(unix.SYS_IOPRIO_SET, ioprioProcess)
	// Flags of files (chattr; the second number is for 32 bits), input pushed
	// into a terminal.
	const setFlags, setFlags32, setXattr, pushInput, terminal = 0x40086602, 0x40046602, 0x401c5820, 0x5412, 0x541c
	f.on(
		unix.SYS_IOCTL, loadArg(1),
		jump(unix.BPF_JEQ, setFlags, 4, 0), jump(unix.BPF_JEQ, setFlags32, 3, 0), jump(unix.BPF_JEQ, setXattr, 2, 0), jump(unix.BPF_JEQ, pushInput, 1, 0),
		jump(unix.BPF_JEQ, terminal, 0, 1), give(with(unix.EPERM)), give(allow),
	)
}

// modes refuses files that are born with special bits, as chmod does later.
func (f *filter) modes() {
	const tmpfile = 0x400000 // __O_TMPFILE of asm-generic/fcntl.h, without O_DIRECTORY
	open := func(nr uint32, flags, mode int) {
		f.on(
			nr, loadArg(flags), jump(unix.BPF_JSET, unix.O_CREAT|tmpfile, 0, 3), // without, the mode is any number
			loadArg(mode), jump(unix.BPF_JSET, special, 0, 1), give(with(unix.EPERM)), give(allow),
		)
	}
	// Of openat2 the mode stands in memory; whoever knows it knows openat, too.
	f.each([]uint32{unix.SYS_OPENAT2}, with(unix.ENOSYS))
	open(unix.SYS_OPENAT, 2, 3)
	for _, nr := range oldOpens() {
		open(nr, 1, 2)
	}
	made := map[uint32]int{unix.SYS_MKNODAT: 2, unix.SYS_MKDIRAT: 2}
	maps.Copy(made, oldMakes())
	for nr, mode := range made {
		f.on(nr, loadArg(mode), jump(unix.BPF_JSET, special, 0, 1), give(with(unix.EPERM)), give(allow))
	}
}

// signals has the warden look at whom a signal is for, on kernels whose
// Landlock does not.
func (f *filter) signals() {
	f.each([]uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO}, ask)
	f.each([]uint32{unix.SYS_PIDFD_SEND_SIGNAL}, with(unix.EPERM))
	for _, nr := range append(oldFcntls(), unix.SYS_FCNTL) {
		f.on(
			nr, loadArg(1), jump(unix.BPF_JEQ, unix.F_SETOWN, 1, 0),
			jump(unix.BPF_JEQ, unix.F_SETOWN_EX, 0, 1), give(with(unix.EPERM)), give(allow),
		)
	}
}

// forbidden is what no command needs and what reaches beyond it: other
// processes, mounts, namespaces, the kernel, shared memory of the user.
func forbidden() []uint32 {
	return append([]uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
		unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
		unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE,
		unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
		unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGRCV, unix.SYS_MSGSND,
		unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}, moreForbidden()...)
}

// fileCalls change what Landlock does not guard: the mode, owner, times and,
// in its first versions, the length of a file.
func fileCalls() []uint32 {
	return []uint32{
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_TRUNCATE,
	}
}

// install puts the filter before the calling thread and sends its listener to
// the warden. In between nothing may happen that the warden is asked about, so
// all is prepared and neither call lets Go's scheduler run.
func (f *filter) install(sock int) error {
	prog := unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	one := []byte{'f'}
	rights := unix.UnixRights(0)
	vec := unix.Iovec{Base: &one[0]}
	vec.SetLen(len(one))
	msg := unix.Msghdr{Iov: &vec, Control: &rights[0]}
	msg.Iovlen = 1
	msg.SetControllen(len(rights))
	slot := (*int32)(unsafe.Pointer(&rights[unix.CmsgLen(0)]))

	// WAIT_KILLABLE_RECV (Linux 5.19): a signal does not tear the thread away
	// from a question that the warden has taken up.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	listener, _, e := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if e == unix.EINVAL {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		listener, _, e = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	}
	if e != 0 {
		return fmt.Errorf("filter system calls: %w", e)
	}
	*slot = int32(listener)
	_, _, e = syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(sock), uintptr(unsafe.Pointer(&msg)), unix.MSG_NOSIGNAL)
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, listener, 0, 0)
	runtime.KeepAlive(f)
	runtime.KeepAlive(one)
	runtime.KeepAlive(rights)
	if e != 0 {
		return fmt.Errorf("hand over the filter: %w", e)
	}
	return nil
}
