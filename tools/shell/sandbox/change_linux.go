package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// question is a call that wants to change a file's mode, owner, times or
// length.
type question struct {
	gate  *gate
	id    uint64
	pid   int // a thread's number
	nr    uint32
	args  [6]uint64
	times timeFormat
}

// timeFormat says how times stand in memory.
type timeFormat int

const (
	nanoseconds timeFormat = iota
	microseconds
	wholeSeconds
	shortNanoseconds // of 32 bits each
	shortMicroseconds
)

// moment is struct __kernel_timespec of linux/time_types.h.
type moment struct{ sec, nsec int64 }

// atCwd is AT_FDCWD as it stands in a register.
const atCwd = 0xffffff9c

// special are the bits of a mode that make a program run as its owner or
// group. On a file of the bot they would lend its rights to other users.
const special = 0o6000

func (q *question) become(nr uint32, args ...uint64) {
	q.nr, q.args = nr, [6]uint64{}
	copy(q.args[:], args)
}

func (q *question) answer() error {
	oldFileCall(q)
	var dir, path, flags uint64
	switch q.nr {
	case unix.SYS_FCHMOD, unix.SYS_FCHOWN:
		dir, flags = q.args[0], unix.AT_EMPTY_PATH
	case unix.SYS_TRUNCATE:
		dir, path = atCwd, q.args[0]
	case unix.SYS_FCHMODAT:
		dir, path = q.args[0], q.args[1]
	case unix.SYS_FCHMODAT2, unix.SYS_UTIMENSAT:
		dir, path, flags = q.args[0], q.args[1], q.args[3]
	case unix.SYS_FCHOWNAT:
		dir, path, flags = q.args[0], q.args[1], q.args[4]
	default:
		return unix.ENOSYS
	}
	if q.nr == unix.SYS_UTIMENSAT && path == 0 {
		flags |= unix.AT_EMPTY_PATH
	}
	fd, err := q.open(int32(dir), path, flags)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !q.gate.holds(fd) {
		return unix.EPERM
	}
	if err := q.change(fd); err != nil {
		return err
	}
	return errDone
}

// holds says whether an open file lies in a folder that the command may change.
func (g *gate) holds(fd int) bool {
	path, err := os.Readlink(own(fd))
	if err != nil || !filepath.IsAbs(path) {
		return false
	}
	for _, root := range g.roots {
		if inside(filepath.Clean(path), root) {
			return true
		}
	}
	return false
}

func own(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func taskPath(pid, tid int) string { return fmt.Sprintf("/proc/%d/task/%d", pid, tid) }

// open opens the file that the call is about, only to point at it.
func (q *question) open(dir int32, addr, flags uint64) (int, error) {
	name := ""
	if addr != 0 {
		var err error
		if name, err = q.text(addr); err != nil {
			return -1, err
		}
	}
	// What was read belongs to the one who asked only if it still waits.
	if !q.waits() {
		return -1, unix.ESRCH
	}
	base := fmt.Sprintf("/proc/%d/fd/%d", q.pid, dir)
	if uint32(dir) == atCwd {
		base = fmt.Sprintf("/proc/%d/cwd", q.pid)
	}
	how := unix.O_PATH | unix.O_CLOEXEC
	if name == "" {
		if flags&unix.AT_EMPTY_PATH == 0 {
			return -1, unix.ENOENT
		}
		return unix.Open(base, how, 0)
	}
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how |= unix.O_NOFOLLOW
	}
	// "self" is whoever asked.
	for _, self := range []string{"/proc/self/", "/proc/thread-self/"} {
		if rest, ok := strings.CutPrefix(name, self); ok {
			name = fmt.Sprintf("/proc/%d/%s", q.pid, rest)
		}
	}
	if filepath.IsAbs(name) {
		return unix.Open(name, how, 0)
	}
	at, err := unix.Open(base, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	return unix.Openat(at, name, how, 0)
}

// waits says whether the call has not been given up meanwhile.
func (q *question) waits() bool {
	const notifIDValid = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID of linux/seccomp.h
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(q.gate.listener), notifIDValid, uintptr(unsafe.Pointer(&q.id)))
	return e == 0
}

// change does what the call wants, to the file that is open.
func (q *question) change(fd int) error {
	switch q.nr {
	case unix.SYS_FCHMOD:
		return chmod(fd, q.args[1])
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		return chmod(fd, q.args[2])
	case unix.SYS_FCHOWN:
		return unix.Fchownat(fd, "", int(int32(q.args[1])), int(int32(q.args[2])), unix.AT_EMPTY_PATH)
	case unix.SYS_FCHOWNAT:
		return unix.Fchownat(fd, "", int(int32(q.args[2])), int(int32(q.args[3])), unix.AT_EMPTY_PATH)
	case unix.SYS_TRUNCATE:
		return unix.Truncate(own(fd), int64(q.args[1]))
	}
	times := []moment{{nsec: unix.UTIME_NOW}, {nsec: unix.UTIME_NOW}}
	if q.args[2] != 0 {
		var err error
		if times, err = q.readTimes(q.args[2]); err != nil {
			return err
		}
	}
	var name byte // an empty one: the file itself
	_, _, e := unix.Syscall6(setTimes, uintptr(fd), uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&times[0])), unix.AT_EMPTY_PATH, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

func chmod(fd int, mode uint64) error {
	if mode&special != 0 {
		return unix.EPERM
	}
	return unix.Chmod(own(fd), uint32(mode)&0o7777)
}

func (q *question) readTimes(addr uint64) ([]moment, error) {
	size, words, unit := 8, 4, int64(1)
	switch q.times {
	case microseconds:
		unit = int64(time.Microsecond)
	case wholeSeconds:
		words = 2
	case shortNanoseconds:
		size = 4
	case shortMicroseconds:
		size, unit = 4, int64(time.Microsecond)
	}
	raw, err := q.memory(addr, size*words)
	if err != nil || len(raw) < size*words {
		return nil, unix.EFAULT
	}
	word := func(i int) int64 {
		if size == 4 {
			return int64(int32(binary.LittleEndian.Uint32(raw[size*i:])))
		}
		return int64(binary.LittleEndian.Uint64(raw[size*i:]))
	}
	if q.times == wholeSeconds {
		return []moment{{sec: word(0)}, {sec: word(1)}}, nil
	}
	return []moment{{word(0), word(1) * unit}, {word(2), word(3) * unit}}, nil
}

// text reads a path from the memory of the one who asks.
func (q *question) text(addr uint64) (string, error) {
	raw, err := q.memory(addr, unix.PathMax)
	if err != nil {
		return "", err
	}
	i := bytes.IndexByte(raw, 0)
	if i < 0 {
		return "", unix.ENAMETOOLONG
	}
	return string(raw[:i]), nil
}

// memory reads at most n bytes; what lies behind the end of the memory is
// left out.
func (q *question) memory(addr uint64, n int) ([]byte, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", q.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unix.EPERM
	}
	defer unix.Close(fd)
	raw := make([]byte, n)
	got := 0
	for got < n {
		// A read ends where a page is missing, so page by page.
		const page = 4096
		step := min(n-got, page-int((addr+uint64(got))%page))
		k, err := unix.Pread(fd, raw[got:got+step], int64(addr)+int64(got))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || k <= 0 {
			break
		}
		got += k
	}
	if got == 0 {
		return nil, unix.EFAULT
	}
	return raw[:got], nil
}
