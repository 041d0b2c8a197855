package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// door is the way of a guarded command out. Its sockets are made by the gate
// and connected by the gate, to a listener of the warden's own; what is accepted
// there goes to the bot. So no address that the command writes is ever used, and
// nobody else of this machine comes in.
type door struct {
	bot      int // a socket over which connections go to the bot
	listener int
	at       unix.Sockaddr
	listens  bool           // the command may
	made     map[uint64]int // sockets that are not connected yet, by inode
	ports    map[uint16]bool
}

// doorTime bounds a connection from one process of this machine to the next.
const doorTime = 5 * time.Second

// mostMade is how many sockets without connection a command may have.
const mostMade = 512

// openDoor listens; only j.Network tells whether there is something to do.
func openDoor(j job) (*door, error) {
	if j.Network != Guarded {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	d := &door{bot: netFile, listener: fd, listens: j.Listen, made: map[uint64]int{}, ports: map[uint16]bool{}}
	const waiting = 16
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err == nil {
		err = unix.Listen(fd, waiting)
	}
	if err == nil {
		d.at, err = unix.Getsockname(fd)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen for the command: %w", err)
	}
	return d, nil
}

func isSocketCall(nr int32) bool {
	return nr == unix.SYS_SOCKET || nr == unix.SYS_CONNECT || nr == unix.SYS_LISTEN
}

// answer returns what the call is to return.
func (d *door) answer(q *question) (int64, error) {
	if d == nil {
		return 0, unix.EACCES
	}
	if q.nr == unix.SYS_SOCKET {
		return d.socket(q)
	}
	inode, err := q.inode(q.args[0])
	if err != nil {
		return 0, err
	}
	fd, ok := d.made[inode]
	switch {
	case !ok && q.nr == unix.SYS_LISTEN:
		return 0, unix.EACCES
	case !ok:
		return 0, unix.EISCONN // or a socket of another kind, which has nowhere to go
	case q.nr == unix.SYS_LISTEN:
		err = d.listen(fd, int(int32(q.args[1])))
	default:
		err = d.connect(q, fd)
	}
	if err == nil {
		unix.Close(fd)
		delete(d.made, inode)
	}
	return 0, err
}

// socket makes one for TCP: of what else there is no rule would hold.
func (d *door) socket(q *question) (int64, error) {
	const flags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	family, kind, protocol := uint32(q.args[0]), uint32(q.args[1]), uint32(q.args[2])
	if kind&^flags != unix.SOCK_STREAM || protocol != 0 && (protocol != unix.IPPROTO_TCP || family == unix.AF_UNIX) {
		return 0, unix.EACCES
	}
	if len(d.made) >= mostMade {
		d.forget()
	}
	if len(d.made) >= mostMade {
		return 0, unix.EMFILE
	}
	if family != unix.AF_UNIX {
		protocol = unix.IPPROTO_TCP
	}
	fd, err := unix.Socket(int(family), unix.SOCK_STREAM|unix.SOCK_CLOEXEC|int(kind&unix.SOCK_NONBLOCK), int(protocol))
	if err != nil {
		return 0, err
	}
	var st unix.Stat_t
	given := int64(-1)
	if err = unix.Fstat(fd, &st); err == nil {
		given, err = q.give(fd, kind&unix.SOCK_CLOEXEC)
	}
	if err != nil {
		unix.Close(fd)
		return 0, err
	}
	d.made[st.Ino] = fd
	return given, nil
}

// forget closes what no process of the command has any more.
func (d *door) forget() {
	used := map[uint64]bool{}
	for _, p := range descendants(os.Getpid()) {
		dir := fmt.Sprintf("/proc/%d/fd", p.pid)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if inode, err := socketInode(dir + "/" + e.Name()); err == nil {
				used[inode] = true
			}
		}
	}
	for inode, fd := range d.made {
		if !used[inode] {
			unix.Close(fd)
			delete(d.made, inode)
		}
	}
}

// connect connects the command's socket to the bot, if that is what it wants.
func (d *door) connect(q *question, fd int) error {
	to, err := q.address()
	if err != nil {
		return err
	}
	if d.ports[to.Port()] && to.Addr().IsLoopback() {
		return reach(fd, to)
	}
	if to.String() != ProxyAddress {
		return unix.EACCES
	}
	at := d.at.(*unix.SockaddrInet4)
	if err := reach(fd, netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port))); err != nil {
		return err
	}
	from, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	return d.hand(portOf(from))
}

// reach connects without waiting for ever: others wait for the gate.
func reach(fd int, to netip.AddrPort) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_NONBLOCK)
	defer func() { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags) }()
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	var addr unix.Sockaddr = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	if family == unix.AF_INET {
		if !to.Addr().Is4() {
			return unix.EAFNOSUPPORT
		}
		addr = &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	if err = unix.Connect(fd, addr); !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	if !ready(fd, unix.POLLOUT) {
		return unix.ETIMEDOUT
	}
	if no, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || no != 0 {
		return unix.Errno(no)
	}
	return nil
}

// hand takes in the connection that came from a port of the command, and sends
// it to the bot. Who else connects is a stranger.
func (d *door) hand(from uint16) error {
	for ready(d.listener, unix.POLLIN) {
		fd, peer, err := unix.Accept4(d.listener, unix.SOCK_CLOEXEC)
		if err != nil {
			continue
		}
		if portOf(peer) != from {
			unix.Close(fd)
			continue
		}
		err = unix.Sendmsg(d.bot, []byte{'c'}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
		unix.Close(fd)
		if err != nil {
			return unix.ECONNREFUSED // the bot is gone
		}
		return nil
	}
	return unix.ETIMEDOUT
}

// listen does so for the command, and notes the port: what it starts there is
// its own, and it may speak with it.
func (d *door) listen(fd, waiting int) error {
	if family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && family == unix.AF_UNIX {
		return unix.Listen(fd, waiting)
	}
	if !d.listens {
		return unix.EACCES
	}
	if err := unix.Listen(fd, waiting); err != nil {
		return err
	}
	at, err := unix.Getsockname(fd)
	if err == nil {
		d.ports[portOf(at)] = true
	}
	return err
}

func (d *door) close() {
	if d == nil {
		return
	}
	unix.Close(d.listener)
	for _, fd := range d.made {
		unix.Close(fd)
	}
}

func ready(fd int, event int16) bool {
	until := time.Now().Add(doorTime)
	for {
		left := time.Until(until)
		if left <= 0 {
			return false
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: event}}, int(left.Milliseconds())+1)
		if err == nil || !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

func portOf(a unix.Sockaddr) uint16 {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return uint16(a.Port)
	case *unix.SockaddrInet6:
		return uint16(a.Port)
	}
	return 0
}

// give puts an open file into the process that asks and returns its number there.
func (q *question) give(fd int, cloexec uint32) (int64, error) {
	// struct seccomp_notif_addfd of linux/seccomp.h
	add := struct {
		id                     uint64
		flags, src, to, fdFlag uint32
	}{id: q.id, src: uint32(fd), fdFlag: cloexec}
	n, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(q.gate.listener), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&add)))
	if e != 0 {
		return -1, e
	}
	return int64(n), nil
}

// inode is that of the socket which has a number in the process that asks.
func (q *question) inode(fd uint64) (uint64, error) {
	inode, err := socketInode(fmt.Sprintf("/proc/%d/fd/%d", q.pid, int32(fd)))
	if err != nil {
		return 0, unix.EBADF
	}
	if !q.waits() {
		return 0, unix.ESRCH
	}
	return inode, nil
}

func socketInode(path string) (uint64, error) {
	to, err := os.Readlink(path)
	if err != nil {
		return 0, err
	}
	number, _ := strings.CutPrefix(strings.TrimSuffix(to, "]"), "socket:[")
	return strconv.ParseUint(number, 10, 64)
}

// address is where a connect wants to go.
func (q *question) address() (to netip.AddrPort, err error) {
	const v4, v6 = 16, 28 // sizes of struct sockaddr_in and sockaddr_in6
	size := int(min(uint32(q.args[2]), v6))
	if size < v4 {
		return to, unix.EINVAL
	}
	raw, err := q.memory(q.args[1], size)
	if err != nil || len(raw) < size {
		return to, unix.EFAULT
	}
	if !q.waits() {
		return to, unix.ESRCH
	}
	port := binary.BigEndian.Uint16(raw[2:])
	switch family := binary.NativeEndian.Uint16(raw); {
	case family == unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(raw[4:8])), port), nil
	case family == unix.AF_INET6 && size == v6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(raw[8:24])).Unmap(), port), nil
	}
	return to, unix.EAFNOSUPPORT
}

// tryReach says to which addresses this process, already confined, gets a
// connection.
func tryReach(addresses []string) {
	for _, text := range addresses {
		to, err := netip.ParseAddrPort(text)
		if err != nil {
			continue
		}
		family := unix.AF_INET
		if to.Addr().Is6() {
			family = unix.AF_INET6
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if reach(fd, to) == nil {
			fmt.Println(text)
		}
		unix.Close(fd)
	}
}
