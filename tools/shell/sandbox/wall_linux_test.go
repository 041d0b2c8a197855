package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/need"
	"magpie/tools/shell/sandbox"
)

// secret is what no command may print, wherever it stands.
const secret = "sk-bot-secret-0451"

// site is a machine as the bot has it: keys in its environment and memory, a
// configuration and a store beside the workspace, a socket, a neighbour.
type site struct {
	t         *testing.T
	dir       string // of the bot: config.yaml, data
	workspace string
	sandbox   *sandbox.Sandbox
	neighbour *exec.Cmd
	calls     chan string // what came over the bot's socket
}

// place makes a site, or says why the kernel cannot have one: a skip, and a
// failure where everything must be there.
func place(t *testing.T, want sandbox.Kind) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, dir: dir, workspace: filepath.Join(dir, "data", "workspace"), calls: make(chan string, 16)}
	for _, sub := range []string{"data/bus", "data/workspace", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"config.yaml": "token: " + secret, "data/web.token": secret, "data/bus/store": secret, "other/file": secret, "other/empty": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OPENAI_API_KEY", secret)
	var err error
	s.sandbox, err = sandbox.New(sandbox.Options{
		Want: want, Write: []string{s.workspace}, Hidden: []string{filepath.Join(dir, "data"), filepath.Join(dir, "config.yaml")},
		Limits: sandbox.Limits{File: 1 << 20, Procs: 64, CPU: 20 * time.Second},
	})
	if errors.Is(err, sandbox.ErrUnavailable) {
		need.Unmet(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// meet starts a process of the same user that holds the secret, and a socket
// of the bot.
func (s *site) meet() {
	s.t.Helper()
	s.neighbour = exec.Command("/bin/sleep", "600")
	s.neighbour.Env = []string{"KEY=" + secret}
	s.neighbour.Dir = s.dir
	if err := s.neighbour.Start(); err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(s.workspace, "bot.sock"))
	if err != nil {
		s.t.Fatal(err)
	}
	abstract, err := net.Listen("unix", "@magpie-test-"+filepath.Base(filepath.Dir(s.dir)))
	if err != nil {
		s.t.Fatal(err)
	}
	letters, err := net.ListenPacket("unixgram", filepath.Join(s.workspace, "bot.dgram"))
	if err != nil {
		s.t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		one := make([]byte, 1)
		for {
			if _, _, err := letters.ReadFrom(one); err != nil {
				return
			}
			s.calls <- "a letter"
		}
	})
	for _, l := range []net.Listener{l, abstract} {
		all.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				s.calls <- "called"
				fmt.Fprintln(c, secret)
				c.Close()
			}
		})
	}
	s.t.Cleanup(func() {
		_ = s.neighbour.Process.Kill()
		_ = s.neighbour.Wait()
		l.Close()
		abstract.Close()
		letters.Close()
		all.Wait()
	})
}

// run runs a command of bash and returns what it said.
func (s *site) run(command string) (sandbox.Outcome, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	var said bytes.Buffer
	out, err := s.sandbox.Run(ctx, sandbox.Command{
		Args: []string{"/bin/bash", "-c", command}, Dir: s.workspace,
		Env:    []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + s.workspace, "BOT=" + fmt.Sprint(os.Getpid()), "DIR=" + s.dir, "NEXT=" + s.next(), "ABSTRACT=magpie-test-" + filepath.Base(filepath.Dir(s.dir))},
		Stdout: &said, Stderr: &said,
	})
	if err != nil {
		s.t.Errorf("%s: %v", command, err)
	}
	return out, said.String()
}

func (s *site) next() string {
	if s.neighbour == nil {
		return "1"
	}
	return fmt.Sprint(s.neighbour.Process.Pid)
}

// state describes everything outside the workspace that a command could have
// changed.
func (s *site) state() string {
	s.t.Helper()
	var b strings.Builder
	err := filepath.Walk(s.dir, func(p string, info os.FileInfo, err error) error {
		if err != nil || strings.HasPrefix(p, s.workspace) {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(&b, p, info.Mode(), st.Uid, st.Gid, st.Nlink)
		if info.Mode().IsRegular() {
			raw, err := os.ReadFile(p)
			fmt.Fprintln(&b, info.ModTime(), string(raw), xattrs(p))
			return err
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range []string{"/usr/bin/env", "/etc/passwd", "/etc/hosts"} {
		if info, err := os.Stat(p); err == nil {
			fmt.Fprintln(&b, p, info.Mode(), info.ModTime(), info.Size(), info.Sys().(*syscall.Stat_t).Uid)
		}
	}
	var nofile syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &nofile); err != nil {
		s.t.Fatal(err)
	}
	prio, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	fmt.Fprintln(&b, nofile, prio, err)
	return b.String()
}

func xattrs(p string) string {
	raw := make([]byte, 1024)
	n, err := syscall.Listxattr(p, raw)
	if err != nil {
		return ""
	}
	return string(raw[:n])
}

// alive fails when the neighbour or this process was hurt.
func (s *site) alive() {
	s.t.Helper()
	if s.neighbour == nil {
		return
	}
	if err := s.neighbour.Process.Signal(syscall.Signal(0)); err != nil {
		s.t.Errorf("the neighbour is dead: %v", err)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.neighbour.Process.Pid))
	if err != nil || strings.Contains(string(raw), ") T ") || strings.Contains(string(raw), ") Z ") {
		s.t.Errorf("the neighbour is %s, %v", raw, err)
	}
}

// The test that counts (SEC-2): with the sandbox in force nothing outside the
// workspace can be read or changed, whatever the command.
func TestWall(t *testing.T) {
	s := place(t, sandbox.Landlock)
	s.meet()
	before := s.state()
	for name, command := range attacks() {
		t.Run(name, func(t *testing.T) {
			_, said := s.run(command)
			if strings.Contains(said, secret) || strings.Contains(said, "root:!") || strings.Contains(said, "root:*") || strings.Contains(said, "BROKEN") {
				t.Errorf("%s\nsaid:\n%s", command, said)
			}
			if after := s.state(); after != before {
				t.Errorf("%s\nchanged something outside:\n%s\nbefore:\n%s", command, after, before)
			}
			s.alive()
			select {
			case <-s.calls:
				t.Errorf("%s\nreached a socket of the bot:\n%s", command, said)
			default:
			}
		})
	}
}

// besides are attacks that say something with bwrap that would be a way out of
// Landlock, and why it is none.
func besides() map[string]string {
	return map[string]string{
		"list folders": "only what was put there is seen", "host user's files": "the file is the command's own", "open by calls": "the file is the command's own",
		"devices": "/dev/shm is the command's own", "shared memory": "it is the command's own", "watching": "the folder is the command's own",
		"proc roots": "process 1 is bwrap", "proc by calls": "process 1 is bwrap",
		"memory of nobody": "the filter counts forks and guards the network, no more",
		"namespaces":       "bwrap before 0.8 cannot forbid them", "namespaces by calls": "bwrap before 0.8 cannot forbid them",
	}
}

// The same attacks on bwrap: nothing is read, changed or hurt.
func TestWallOfBwrap(t *testing.T) {
	s := place(t, sandbox.Bwrap)
	s.meet()
	before := s.state()
	for name, command := range attacks() {
		t.Run(name, func(t *testing.T) {
			// Its own pipe can be opened, and nobody would write into it.
			_, said := s.run(strings.ReplaceAll(command, "/proc/$p/fd/*", ""))
			if strings.Contains(said, secret) || strings.Contains(said, "root:!") || strings.Contains(said, "root:*") {
				t.Errorf("%s\nsaid:\n%s", command, said)
			}
			if strings.Contains(said, "BROKEN") && besides()[name] == "" {
				t.Errorf("%s\nsaid:\n%s", command, said)
			}
			if after := s.state(); after != before {
				t.Errorf("%s\nchanged something outside:\n%s\nbefore:\n%s", command, after, before)
			}
			s.alive()
		})
	}
	// What root could change with bwrap alone.
	for _, file := range []string{"/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity"} {
		if _, said := s.run("(exec 5>>" + file + ") && echo BROKEN"); strings.Contains(said, "BROKEN") {
			t.Errorf("%s can be written to: %s", file, said)
		}
	}
}

// Files that the bot has inherited are not handed on.
func TestInherited(t *testing.T) {
	s := place(t, sandbox.Landlock)
	f, err := os.Open(filepath.Join(s.dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd())) // stays open in a new program
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if _, said := s.run("for i in $(seq 3 20); do eval 'cat <&'$i; done; cat /dev/fd/*"); strings.Contains(said, secret) {
		t.Errorf("said %s", said)
	}
}

// attacks are ways out. They are chosen so that one that gets through does no
// lasting harm to the machine of whoever runs the tests. BOT is the bot's process, NEXT another one of the same
// user, DIR the bot's folder. A command that gets through prints the secret,
// the word BROKEN, or changes something.
func attacks() map[string]string {
	py := func(code string) string {
		return "/usr/bin/python3 - <<'PY'\nimport os,ctypes,struct,socket,sys\nlibc=ctypes.CDLL(None,use_errno=True)\nE=os.environ\nD=E['DIR']\nB=int(E['BOT'])\nN=int(E['NEXT'])\n" + code + "\nPY"
	}
	return map[string]string{
		"read files":        `cat $DIR/config.yaml $DIR/data/web.token $DIR/data/bus/store $DIR/other/file ../web.token ../../config.yaml; cat < $DIR/config.yaml; dd if=$DIR/config.yaml; od -c $DIR/config.yaml`,
		"read secrets":      `cat /etc/shadow /etc/gshadow /root/.ssh/* /root/.bashrc /etc/ssl/private/* /var/log/* /run/secrets/* && echo BROKEN`,
		"list folders":      `ls $DIR /root /home /tmp /var /etc /proc 2>/dev/null | grep . && echo BROKEN`,
		"write files":       `echo x > $DIR/config.yaml; echo x >> $DIR/other/file; echo x > $DIR/new; mkdir $DIR/d; touch $DIR/t; cp /bin/ls $DIR/l; tee $DIR/other/file <<< x; sed -i s/x/y/ $DIR/other/file`,
		"remove and rename": `rm -f $DIR/other/file; rmdir $DIR/other; mv $DIR/other $DIR/o2; mv $DIR/other/file .; mv $DIR/other/file $DIR/other/f2; unlink $DIR/config.yaml; ln -f $DIR/other/empty $DIR/other/file`,
		"metadata":          `chmod 000 $DIR/config.yaml; chmod 777 $DIR; chown 1:1 $DIR/other/file; touch -d 2001-01-01 $DIR/other/file; touch $DIR/config.yaml; truncate -s 0 $DIR/other/file; setfattr -n user.x -v 1 $DIR/other/file; chattr +i $DIR/other/file; touch /usr/bin/env`,
		"metadata by calls": py(`
for f in (lambda: os.chmod(D+'/config.yaml',0o777), lambda: os.chmod('config.yaml',0,dir_fd=os.open(D,os.O_PATH)), lambda: os.utime(D+'/config.yaml',(1,1)), lambda: os.truncate(D+'/config.yaml',0),
  lambda: os.chown(D+'/config.yaml',1,1), lambda: os.lchown(D+'/config.yaml',1,1), lambda: os.setxattr(D+'/other/file','user.a',b'1'), lambda: os.fchmod(os.open('/usr/bin/env',os.O_RDONLY),0o555),
  lambda: os.utime(os.open('/etc/passwd',os.O_RDONLY)), lambda: os.utime(os.open('/etc/hosts',os.O_RDONLY)), lambda: os.chmod('/proc/self/fd/%d'%os.open(D+'/config.yaml',os.O_PATH),0), lambda: os.chmod('/proc/self/cwd/../../config.yaml',0),
  lambda: os.chmod('/proc/%d/cwd/config.yaml'%N,0), lambda: os.chmod('/proc/self/root'+D+'/config.yaml',0)):
  try: f(); print('did',f)
  except OSError as e: pass
for nr in (90,92,132,235,261,280,452,463,469):
  p=(D+'/config.yaml').encode(); libc.syscall(nr,p,0,0,0,0); libc.syscall(nr,-100,p,0,0,0)`),
		"metadata by link":    `ln -s $DIR/config.yaml l; ln -s $DIR d; chmod 000 l; chmod 000 d/config.yaml; touch -d 2001-01-01 l; chown 1 l; truncate -s 0 l; chown -h 1 l; cd d && chmod 000 config.yaml; chmod -R 000 .`,
		"metadata race":       `echo x > f; ln -s $DIR/config.yaml g; (for i in $(seq 100); do ln -sf $DIR/config.yaml h; ln -f f h; done) & for i in $(seq 100); do chmod 777 h; touch -d 2001-01-01 h; done 2>/dev/null; wait`,
		"symbolic links":      `ln -s / root; cat root/$DIR/config.yaml; cat root/etc/shadow; ln -s $DIR/config.yaml c; cat c; echo x > c; ln -s $DIR/new n; echo x > n; ln -s ../.. up; cat up/config.yaml`,
		"hard links":          `ln $DIR/config.yaml hard; cat hard; ln $DIR/other/file h2; echo x >> h2; ln /etc/passwd p && echo BROKEN; ln /usr/bin/env e && echo BROKEN`,
		"proc roots":          `for p in self $BOT $NEXT $PPID 1; do cat /proc/$p/root$DIR/config.yaml /proc/$p/cwd/config.yaml /proc/$p/environ /proc/$p/cmdline /proc/$p/maps /proc/$p/mem /proc/$p/fd/* /proc/$p/fdinfo/* /proc/$p/task/*/environ; done | tr '\0' '\n'; ls /proc/$BOT/fd && echo BROKEN; strings /proc/$BOT/mem; cat /proc/kcore /proc/kallsyms /proc/kmsg | head -c 1 | grep . && echo BROKEN`,
		"proc by calls":       py("for p in (B,N,1):\n  for n in ('environ','mem','maps','cwd/config.yaml','root'+D+'/config.yaml','auxv','stack','pagemap','cmdline'):\n    try: print(open('/proc/%d/%s'%(p,n),'rb').read(4096))\n    except OSError: pass\n  for n in ('cwd','root','exe'):\n    try: print('BROKEN',os.readlink('/proc/%d/%s'%(p,n)))\n    except OSError: pass"),
		"write to proc":       `for p in $BOT $NEXT $PPID; do echo 1000 > /proc/$p/oom_score_adj; echo x > /proc/$p/comm; echo x > /proc/$p/mem; done; (exec 5<>/proc/sys/kernel/core_pattern) && echo BROKEN; echo h > /proc/sysrq-trigger && echo BROKEN; echo 1 > /proc/sys/vm/drop_caches && echo BROKEN; echo x > /sys/power/state && echo BROKEN`,
		"ptrace":              py("print('BROKEN' if libc.ptrace(16,N,0,0)==0 or libc.ptrace(0x4206,B,0,0)==0 else 'no')\nb=ctypes.create_string_buffer(64)\nclass V(ctypes.Structure): _fields_=[('b',ctypes.c_void_p),('l',ctypes.c_size_t)]\nv=V(ctypes.addressof(b),64)\nr=V(0x400000,64)\nprint('BROKEN' if libc.process_vm_readv(N,ctypes.byref(v),1,ctypes.byref(r),1,0)>=0 else 'no')\nprint('BROKEN' if libc.syscall(438,libc.syscall(434,N,0),0,0)>=0 else 'no')"),
		"debugger":            `gdb -p $NEXT -batch -ex 'info proc' -ex 'call (int)getpid()' 2>&1 | grep -q '^\$1' && echo BROKEN; strace -p $BOT -o /dev/null -c & sleep 0.05; kill %1`,
		"signals":             `kill -9 $NEXT $BOT; kill -STOP $NEXT; kill -9 -$NEXT; kill -0 $BOT && echo BROKEN; timeout -s KILL 1 true`,
		"signals by calls":    py("for nr,a in ((62,(N,9)),(62,(B,19)),(200,(N,9)),(234,(N,N,9)),(129,(N,9,0)),(424,(libc.syscall(434,N,0),9,0,0))):\n  libc.syscall(nr,*a)\nimport fcntl\ns=socket.socketpair()\nfor f,a in ((8,N),(10,9)):\n  try: fcntl.fcntl(s[0],f,a)\n  except OSError: pass\nfcntl.fcntl(s[0],4,0o20000)\ns[1].send(b'x')"),
		"limits of others":    `prlimit --pid $BOT --nofile=10:10; prlimit --pid $NEXT --cpu=1; renice 19 -p $BOT; ionice -c 3 -p $BOT; taskset -p 1 $BOT; chrt -b -p 0 $BOT`,
		"mount":               `mount --bind / . && echo BROKEN; mount -t tmpfs x . && echo BROKEN; mount -t proc x . && echo BROKEN; umount -l . && echo BROKEN; chroot / true && echo BROKEN; pivot_root . . && echo BROKEN`,
		"namespaces":          `unshare -r true && echo BROKEN; unshare -m true && echo BROKEN; unshare -Urmp --fork cat $DIR/config.yaml; nsenter -t $BOT -m true && echo BROKEN; bwrap --bind / / true && echo BROKEN`,
		"namespaces by calls": py("for f in (0x10000000,0x20000,0x20000000,0x40000000):\n  if libc.unshare(f)==0: print('BROKEN',f)\n  if libc.syscall(56,f|17,0,0,0,0)>=0: os._exit(print('BROKEN',f,flush=True) or 0)\nprint('BROKEN' if libc.syscall(435,0,0)>=0 else ctypes.get_errno())"),
		"devices":             `head -c 1 /dev/mem | grep . && echo BROKEN; mknod m c 1 1 && echo BROKEN; mknod b b 254 0 && echo BROKEN; for d in /dev/vda /dev/sda /dev/kmsg /dev/port; do head -c 1 $d && echo BROKEN; done; ls /dev/shm && echo BROKEN; echo x > /dev/shm/x && echo BROKEN`,
		"sockets":             py("for a in ('bot.sock','bot.dgram','\\0'+E['ABSTRACT'],'/run/dbus/system_bus_socket','/var/run/docker.sock'):\n  for k in (1,2,5):\n    try:\n      s=socket.socket(socket.AF_UNIX,k); s.connect(a); print('BROKEN',s.recv(99))\n    except OSError as e: pass\n    try:\n      s=socket.socketpair(socket.AF_UNIX,k)[0]; s.connect(a); print('BROKEN')\n    except OSError: pass\n    try: socket.socketpair(socket.AF_UNIX,k)[0].sendto(b'x',a); print('BROKEN',k)\n    except OSError: pass\nfor f in (40,16,17,38,1):\n  try: socket.socket(f,socket.SOCK_RAW); print('BROKEN' if f!=16 else '')\n  except OSError: pass"),
		"pairs":               py("import itertools\nfor d,k,p in itertools.product((1,2,10,16,17,21,30,38,40),range(16),(0,1,6,17)):\n  for a in ('bot.dgram','bot.sock','\\0'+E['ABSTRACT']):\n    try: s=socket.socketpair(d,k,p)[0]\n    except (OSError,ValueError): break\n    if d!=1 or k not in (1,5): print('BROKEN',d,k,p)\n    for f in (lambda: s.sendto(b'x',a), lambda: s.sendmsg([b'x'],[],0,a)):\n      try: f()\n      except OSError: pass\n    try: s.connect(a); print('BROKEN',d,k,p)\n    except OSError: pass\nfor p in range(1,25):\n  try: socket.socket(16,3,p); print('BROKEN netlink',p)\n  except OSError: pass"),
		"scheduling of all":   py("for w in (0,1,2,3):\n  for i in (0,os.getuid(),os.getpgid(B),os.getpgid(N),B,N):\n    if w==2 or w==3 or i:\n      if libc.setpriority(w,i,7)==0: print('BROKEN',w,i)\n    if (w==3 or i) and libc.syscall(251,w,i,3<<13)==0: print('BROKEN io',w,i)"),
		"born special":        py("p=b'born'\nO=os.O_CREAT|os.O_RDWR\nT=0o20200000|os.O_RDWR\nfor m in (0o4755,0o2755,0o6777):\n  h=struct.pack('QQQ',O,m,0)\n  for c in ((2,p,O,m),(2,b'.',T,m),(257,-100,p,O,m),(257,-100,b'.',T,m),(85,p,m),(437,-100,p,h,24),(133,p,0o100000|m,0),(259,-100,p,0o100000|m,0),(83,b'bornd',m),(258,-100,b'bornd',m)):\n    fd=libc.syscall(*c)\n    if fd>=0 and c[0] in (2,257,85,437) and os.fstat(fd).st_mode&0o6000: print('BROKEN',c)\n    if os.path.exists('born') and os.stat('born').st_mode&0o6000: print('BROKEN',c)\n    for f in (lambda: os.unlink('born'), lambda: os.rmdir('bornd')):\n      try: f()\n      except OSError: pass"),
		"memory of nobody":    py("print('BROKEN' if libc.syscall(319,b'x',0)>=0 or libc.syscall(447,0)>=0 else 'no')"),
		"io_uring":            py("p=ctypes.create_string_buffer(120)\nprint('BROKEN' if libc.syscall(425,8,p)>=0 else 'no')"),
		"handles":             py("h=ctypes.create_string_buffer(struct.pack('II',128,0)+b'\\0'*128)\nm=ctypes.c_int()\nlibc.name_to_handle_at(-100,(D+'/config.yaml').encode(),h,ctypes.byref(m),0)\nfd=libc.open_by_handle_at(os.open('.',os.O_RDONLY),h,0)\nprint('BROKEN' if fd>=0 else 'no')"),
		"open by calls":       py("p=(D+'/config.yaml').encode()\nfor fd in (libc.syscall(2,p,0), libc.syscall(257,-100,p,0), libc.syscall(437,-100,p,struct.pack('QQQ',0,0,0),24), libc.open(b'../../config.yaml',0), libc.openat(os.open('..',os.O_PATH),b'../config.yaml',0), libc.syscall(85,p,0o644), libc.syscall(76,p,0)):\n  if fd>=0: print('BROKEN',fd)\nd=os.open(D,os.O_PATH)\nos.fchdir(d)\nprint('BROKEN' if libc.open(b'config.yaml',0)>=0 else 'no')\nprint(os.path.exists('/proc/self/fd/%d'%d) and libc.open(b'/proc/self/fd/%d/config.yaml'%d,0)>=0 and 'BROKEN')"),
		"copies by calls":     py("o=os.open('out',os.O_CREAT|os.O_RDWR)\nd=os.open(D+'/config.yaml',os.O_PATH)\nprint('BROKEN' if libc.sendfile(o,d,0,99)>0 or libc.syscall(326,d,0,o,0,99,0)>0 or libc.syscall(276,d,0,o,0,99,0)>0 else 'no')\nprint('BROKEN' if libc.mmap(0,4096,1,2,d,0)!=-1 else 'no')\nprint('BROKEN' if libc.syscall(316,-100,(D+'/config.yaml').encode(),-100,b'mine',0)==0 else 'no')\nprint('BROKEN' if libc.syscall(316,-100,b'out',-100,(D+'/config.yaml').encode(),2)==0 else 'no')"),
		"32 bit calls":        py("import mmap\nm=mmap.mmap(-1,4096,prot=7)\nm.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\na=ctypes.addressof(ctypes.c_char.from_buffer(m))\nr=ctypes.CFUNCTYPE(ctypes.c_int)(a)()\nprint('BROKEN' if r>0 else r)"),
		"x32 calls":           py("print('BROKEN' if libc.syscall(0x40000000|39)>0 else 'no')"),
		"watching":            py("fd=libc.inotify_init()\nprint('BROKEN' if libc.inotify_add_watch(fd,D.encode(),0xfff)>=0 else 'no')"),
		"kernel":              py("for nr in (321,298,323,250,248,249,175,313,246,320,169,167,163,103,170,171):\n  if libc.syscall(nr,0,0,0,0,0)>=0: print('BROKEN',nr)"),
		"shared memory":       py("print('BROKEN' if libc.shmget(0x4242,4096,0o1600)>=0 or libc.msgget(0x4242,0o1600)>=0 or libc.semget(0x4242,1,0o1600)>=0 else 'no')"),
		"preload":             "cat > p.c <<'C'\n#include <stdio.h>\n__attribute__((constructor)) static void f(void){char b[99]={0};FILE*h=fopen(\"/etc/shadow\",\"r\");if(h&&fgets(b,99,h))puts(b);}\nC\ngcc -shared -fPIC -o p.so p.c; LD_PRELOAD=./p.so cat $DIR/config.yaml; LD_PRELOAD=./p.so su -c id; LD_PRELOAD=./p.so sudo -n id && echo BROKEN",
		"more rights":         `su -c "cat $DIR/config.yaml"; sudo -n cat $DIR/config.yaml; grep -q . /etc/shadow && echo BROKEN; setpriv --reuid 1 true && echo BROKEN; capsh --print | grep -q 'Current: =ep' && echo BROKEN; setcap cap_net_raw+ep f; python3 -c 'import os; os.setuid(1); print("BRO"+"KEN")'`,
		"own filter":          py("p=ctypes.create_string_buffer(struct.pack('HBBI',6,0,0,0x7fff0000))\nf=struct.pack('HxxxxxxQ',1,ctypes.addressof(p))\nlibc.syscall(317,1,0,f)\nprint('BROKEN' if libc.chmod((D+'/config.yaml').encode(),0)==0 else 'no')"),
		"daemon":              `(setsid bash -c "sleep 0.3; cat $DIR/config.yaml > out; echo x > $DIR/other/file" &) ; nohup sleep 500 & disown; echo done`,
		"environment":         `env; set; export -p; cat /proc/self/environ | tr '\0' '\n'; cat /proc/$PPID/environ`,
		"host user's files":   `(exec 5>>/root/.bashrc) && echo BROKEN; (exec 5>>/root/magpie-test) && echo BROKEN; (exec 5>>/etc/crontab) && echo BROKEN; at now <<< id && echo BROKEN; systemd-run --user id && echo BROKEN;`,
		"perl":                `perl -e 'print <$s> if open(my $s,"<","/etc/shadow"); for my $f ("$ENV{DIR}/config.yaml","$ENV{DIR}/other/file"){ if(open(my $h,"<",$f)){print <$h>} chmod(0,$f); utime(1,1,$f); unlink($f); truncate($f,0); rename($f,"x"); }'`,
		"archives":            `tar -cf - -C $DIR . | tar -t | grep config && echo BROKEN; tar -cf a.tar $DIR/config.yaml; cat a.tar; cp -r $DIR/. copy; cat copy/config.yaml; rsync -a $DIR/ copy2; git -C $DIR status; git clone $DIR c2; find $DIR -type f -exec cat {} +; grep -r sk- $DIR`,
	}
}
