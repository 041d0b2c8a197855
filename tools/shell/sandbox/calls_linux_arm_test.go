package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What comes of the old calls of a 32-bit processor.
func TestOldFileCalls(t *testing.T) {
	const none, wide, short = 0xffffffff, 0xffff, 100000 & 0xffff
	for name, c := range map[string]struct {
		nr    uint32
		args  [6]uint64
		want  uint32
		then  [6]uint64
		times timeFormat
	}{
		"chmod":          {unix.SYS_CHMOD, [6]uint64{7, 0o600}, unix.SYS_FCHMODAT, [6]uint64{atCwd, 7, 0o600}, nanoseconds},
		"chown":          {unix.SYS_CHOWN, [6]uint64{7, short, wide}, unix.SYS_FCHOWNAT, [6]uint64{atCwd, 7, short, none}, nanoseconds},
		"chown32":        {unix.SYS_CHOWN32, [6]uint64{7, 100000, none}, unix.SYS_FCHOWNAT, [6]uint64{atCwd, 7, 100000, none}, nanoseconds},
		"lchown":         {unix.SYS_LCHOWN, [6]uint64{7, wide, 1}, unix.SYS_FCHOWNAT, [6]uint64{atCwd, 7, none, 1, unix.AT_SYMLINK_NOFOLLOW}, nanoseconds},
		"lchown32":       {unix.SYS_LCHOWN32, [6]uint64{7, wide, 1}, unix.SYS_FCHOWNAT, [6]uint64{atCwd, 7, wide, 1, unix.AT_SYMLINK_NOFOLLOW}, nanoseconds},
		"fchown":         {unix.SYS_FCHOWN, [6]uint64{3, wide, 2}, unix.SYS_FCHOWN, [6]uint64{3, none, 2}, nanoseconds},
		"fchown32":       {unix.SYS_FCHOWN32, [6]uint64{3, wide, 2}, unix.SYS_FCHOWN, [6]uint64{3, wide, 2}, nanoseconds},
		"truncate":       {unix.SYS_TRUNCATE, [6]uint64{7, 0xffffffff}, unix.SYS_TRUNCATE, [6]uint64{7, 1<<64 - 1}, nanoseconds},
		"truncate64":     {unix.SYS_TRUNCATE64, [6]uint64{7, 99, 5, 2}, unix.SYS_TRUNCATE, [6]uint64{7, 2<<32 | 5}, nanoseconds},
		"utimes":         {unix.SYS_UTIMES, [6]uint64{7, 8}, unix.SYS_UTIMENSAT, [6]uint64{atCwd, 7, 8}, shortMicroseconds},
		"futimesat":      {unix.SYS_FUTIMESAT, [6]uint64{3, 7, 8}, unix.SYS_UTIMENSAT, [6]uint64{3, 7, 8}, shortMicroseconds},
		"utimensat":      {unix.SYS_UTIMENSAT, [6]uint64{3, 7, 8, 9}, unix.SYS_UTIMENSAT, [6]uint64{3, 7, 8, 9}, shortNanoseconds},
		"utimensat64":    {unix.SYS_UTIMENSAT_TIME64, [6]uint64{3, 7, 8, 9}, unix.SYS_UTIMENSAT, [6]uint64{3, 7, 8, 9}, nanoseconds},
		"not an old one": {unix.SYS_FCHMODAT, [6]uint64{3, 7, 0o600}, unix.SYS_FCHMODAT, [6]uint64{3, 7, 0o600}, nanoseconds},
	} {
		q := &question{nr: c.nr, args: c.args}
		if oldFileCall(q); q.nr != c.want || q.args != c.then || q.times != c.times {
			t.Errorf("%s: %d %v %d, want %d %v %d", name, q.nr, q.args, q.times, c.want, c.then, c.times)
		}
	}
}

// Every program of this processor makes the call that sets its thread's pointer.
func TestPrivateCalls(t *testing.T) {
	for _, f := range []*filter{newFilter(job{ABI: 1, Network: Open}), newFilter(job{ABI: abiKnown, Network: Open}), newCounter(job{Network: Open})} {
		if got := f.run(t, auditArch, 0xf0005); got != allow {
			t.Errorf("set_tls gets %#x", got)
		}
		if got := f.run(t, auditArch, 0xf0007); got != with(unix.ENOSYS) {
			t.Errorf("a call that there is not gets %#x", got)
		}
	}
}
