package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"magpie/internal/need"
	"magpie/tools/shell/sandbox"
)

// guarded runs commands whose proxy says hello and repeats what it hears. SERVICE
// and SERVICE6 are services of this machine, which nobody must reach.
type guarded struct {
	*site
	env     []string
	reached atomic.Int32 // connections to the services
	calls   atomic.Int32 // to the proxy
}

func guard(t *testing.T, kind sandbox.Kind) *guarded {
	t.Helper()
	g := &guarded{site: place(t, kind)}
	if got := g.sandbox.Network(); got != sandbox.Guarded {
		need.Unmet(t, "the network of commands is %s here: %s", got, g.sandbox.Report().Text)
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for name, at := range map[string]string{"SERVICE": "127.0.0.1:0", "SERVICE6": "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		all.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				g.reached.Add(1)
				_, _ = io.WriteString(c, secret)
				c.Close()
			}
		})
		t.Cleanup(func() { l.Close() })
		g.env = append(g.env, fmt.Sprintf("%s=%d", name, l.Addr().(*net.TCPAddr).Port))
	}
	return g
}

func (g *guarded) serve(_ context.Context, c net.Conn) {
	g.calls.Add(1)
	_, _ = io.WriteString(c, "hello ")
	_, _ = io.Copy(c, c)
}

func (g *guarded) python(code string) string {
	g.t.Helper()
	var said bytes.Buffer
	out, err := g.sandbox.Run(g.t.Context(), sandbox.Command{
		Args: []string{"/usr/bin/python3", "-c", "import os,socket,ctypes,struct,sys,threading,errno\nlibc=ctypes.CDLL(None,use_errno=True)\nP=int(os.environ['SERVICE'])\nS=('127.0.0.1',P)\nX=('127.0.0.1',3128)\n" + code},
		Env:  append([]string{"PATH=/usr/bin:/bin"}, g.env...), Dir: g.workspace, Stdout: &said, Stderr: &said, Proxy: g.serve,
	})
	if err != nil {
		g.t.Errorf("%v %v", out, err)
	}
	return said.String()
}

// Every way to a socket and to a connection that a guarded command could try:
// one reaches the proxy, none the services of this machine.
func TestGuardedWall(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		g := guard(t, kind)
		for _, abi := range []int{0, 1} { // 1: the filter alone
			if abi > 0 && kind == sandbox.Landlock {
				g.sandbox.SetABI(abi)
			}
			for name, code := range escapes() {
				t.Run(fmt.Sprint(kind, abi, " ", name), func(t *testing.T) {
					said := g.python(code)
					if g.reached.Swap(0) != 0 || strings.Contains(said, secret) || strings.Contains(said, "BROKEN") {
						t.Errorf("got out:\n%s", said)
					}
					if !strings.HasSuffix(said, "end\n") {
						t.Errorf("did not come to its end:\n%s", said)
					}
				})
			}
		}
	}
}

func escapes() map[string]string {
	const swap = `
def racing(change, call):
  over=[]
  def f():
    while not over: change()
  t=threading.Thread(target=f); t.start()
  for i in range(400): call()
  over.append(1); t.join()
`
	return map[string]string{
		"connect":         "for a in (S,('0.0.0.0',P),('127.1.2.3',P),('10.0.0.1',80),('169.254.169.254',80)):\n  try: socket.create_connection(a,2); print('BROKEN')\n  except OSError as e: assert e.errno==errno.EACCES,e\nprint('end')",
		"IPv6":            "for a in (('::1',int(os.environ.get('SERVICE6','1'))),('::ffff:127.0.0.1',P),('::',P),('::1',3128)):\n  s=socket.socket(socket.AF_INET6)\n  try: s.connect(a); print('BROKEN',a)\n  except OSError: pass\nprint('end')",
		"other sockets":   "import itertools\nfor d,k,p in itertools.product(range(46),(1,2,3,4,5,6,10),(0,1,6,17,58,132,255,256,262)):\n  fd=libc.socket(d,k,p)\n  if fd>=0:\n    if not ((d in (2,10) and k==1 and p in (0,6)) or (d==16 and p==0)): print('BROKEN',d,k,p)\n    os.close(fd)\nprint('end')",
		"fast open":       "b=b'GET'\na=struct.pack('=H',2)+struct.pack('>H',P)+socket.inet_aton('127.0.0.1')+b'\\0'*8\nfor f in (0x20000000,0x20000040,0):\n  s=socket.socket()\n  for call in (lambda: s.sendto(b,f,S), lambda: s.sendmsg([b],[],f,S)):\n    try: call(); print('BROKEN')\n    except OSError: pass\n  libc.sendto(s.fileno(),b,3,f,a,16)\n  iov=(ctypes.c_void_p*2)(ctypes.cast(ctypes.c_char_p(b),ctypes.c_void_p),3)\n  addr=ctypes.create_string_buffer(a)\n  m=struct.pack('PIxxxxPQPQi',ctypes.addressof(addr),16,ctypes.addressof(iov),1,0,0,0)\n  mm=ctypes.create_string_buffer(m+b'\\0'*16)\n  if libc.sendmmsg(s.fileno(),mm,1,f)>0: print('BROKEN')\n  s.settimeout(0.2)\n  s.setsockopt(6,30,1) if 0 else None\n  try: s.recv(9) and print('BROKEN')\n  except OSError: pass\ns=socket.socket(); s.setsockopt(6,30,1)\ntry: s.connect(S); s.send(b'x'); print('BROKEN')\nexcept OSError: pass\nprint('end')",
		"again":           "a=ctypes.create_string_buffer(16)\nfor before in (1,0):\n  s=socket.socket()\n  if before: s.connect(X)\n  libc.connect(s.fileno(),a,16)\n  libc.shutdown(s.fileno(),2)\n  libc.connect(s.fileno(),a,16)\n  try: s.connect(S); print('BROKEN')\n  except OSError: pass\nprint('end')",
		"changed address": swap + "a=ctypes.create_string_buffer(struct.pack('=H',2)+struct.pack('>H',3128)+socket.inet_aton('127.0.0.1')+b'\\0'*8)\nports=[struct.pack('>H',3128),struct.pack('>H',P)]\nn=[0]\ndef change():\n  n[0]^=1; ctypes.memmove(ctypes.addressof(a)+2,ports[n[0]],2)\ndef call():\n  s=socket.socket(); libc.connect(s.fileno(),a,16); s.close()\nracing(change,call)\nprint('end')",
		"changed file":    swap + "a=struct.pack('=H',2)+struct.pack('>H',3128)+socket.inet_aton('127.0.0.1')+b'\\0'*8\nb=struct.pack('=H',2)+struct.pack('>H',P)+socket.inet_aton('127.0.0.1')+b'\\0'*8\nx=socket.socket(); y=os.open('/dev/null',0); z=os.dup(y)\ndef change(): os.dup2(x.fileno(),z); os.dup2(y,z)\ndef call(): libc.connect(z,b,16)\nracing(change,call)\nprint('end')",
		"by others":       "s=socket.socket(); t=os.dup(s.fileno())\nif os.fork()==0:\n  for f in (s.fileno(),t):\n    try: socket.socket(fileno=os.dup(f)).connect(S); print('BROKEN')\n    except OSError: pass\n  os._exit(0)\nos.wait()\na,b=socket.socketpair()\nsocket.send_fds(a,[b'x'],[s.fileno()])\nfd=socket.recv_fds(b,1,1)[1][0]\ntry: socket.socket(fileno=fd).connect(S); print('BROKEN')\nexcept OSError: pass\nprint('end')",
		"own filter":      "libc.prctl(38,1,0,0,0)\nf=struct.pack('HBBI',6,0,0,0x7fc00000)\np=ctypes.create_string_buffer(f)\nfd=libc.syscall(317,1,8,struct.pack('HxxxxxxQ',1,ctypes.addressof(p)))\nprint('BROKEN' if fd>=0 else 'no')\nprint('end')",
		"ring":            "p=ctypes.create_string_buffer(120)\nprint('BROKEN' if libc.syscall(425,8,p)>=0 else 'no')\nprint('end')",
		"listening":       "for s in (socket.socket(),socket.socket(socket.AF_INET6)):\n  libc.listen(s.fileno(),5)==0 and print('BROKEN')\n  try: s.bind(('',0)); \n  except OSError: pass\n  libc.listen(s.fileno(),5)==0 and print('BROKEN')\nprint('end')",
		"somebody's fork": "for i in range(8):\n  if os.fork()==0:\n    for j in range(50):\n      s=socket.socket()\n      try: s.connect(S); print('BROKEN')\n      except OSError: pass\n      c=socket.create_connection(X); assert c.recv(6)==b'hello '; c.close()\n    os._exit(0)\nfor i in range(8): assert os.wait()[1]==0\nprint('end')",
	}
}

// What a guarded command may: speak with its proxy, in every way to connect.
func TestGuardedWork(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		g := guard(t, kind)
		for name, code := range map[string]string{
			"blocking": "c=socket.create_connection(X); c.sendall(b'you'); print(c.recv(6)+c.recv(9))",
			"waiting":  "import asyncio\nasync def f():\n  r,w=await asyncio.open_connection(*X); w.write(b'you'); print(await r.readexactly(9)); w.close()\nasyncio.run(f())",
			"timeout":  "s=socket.socket(); s.settimeout(5); s.connect(X); assert s.gettimeout()==5; s.send(b'you'); print(s.recv(6)+s.recv(9))",
			"mapped":   "s=socket.socket(socket.AF_INET6); s.connect(('::ffff:127.0.0.1',3128)); s.send(b'you'); print(s.recv(6)+s.recv(9))",
			"flags":    "import fcntl\ns=socket.socket(); assert fcntl.fcntl(s,1)&1; assert not fcntl.fcntl(s,3)&2048; fd=libc.socket(2,1|2048,0); assert fcntl.fcntl(fd,3)&2048 and not fcntl.fcntl(fd,1)&1; s.setsockopt(6,1,1); s.connect(X); assert not fcntl.fcntl(s,3)&2048; s.send(b'you'); print(s.recv(6)+s.recv(9))",
			"end":      "s=socket.socket(); s.connect(X); s.send(b'you'); s.shutdown(1); b=b''\nwhile 1:\n  d=s.recv(9)\n  if not d: break\n  b+=d\nprint(b)",
			"many":     "for i in range(2000): socket.socket().close()\na=[socket.socket() for i in range(300)]\nfor i in range(2000): socket.socket().close()\na[7].connect(X); a[7].send(b'you'); print(a[7].recv(6)+a[7].recv(9))",
			"too many": "a=[]\ntry:\n  for i in range(700): a.append(socket.socket())\nexcept OSError as e: assert e.errno==errno.EMFILE\nassert 400<len(a)<700,len(a)\ndel a\ns=socket.socket(); s.connect(X); s.send(b'you'); print(s.recv(6)+s.recv(9))",
			"crowd":    "a=[socket.create_connection(X) for i in range(200)]\nn=sum(1 for c in a if c.recv(6))\nassert n==128,n\n[c.close() for c in a]\nprint(b'hello you')",
			"stays":    "if os.fork()==0:\n  os.setsid(); c=socket.create_connection(X); c.recv(6); open('there','w'); c.recv(9)\nimport time\nwhile not os.path.exists('there'): time.sleep(.01)\nos.unlink('there'); print(b'hello you')",
		} {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				if said := g.python(code); said != "b'hello you'\n" {
					t.Errorf("said %s", said)
				}
			})
		}
	}
}

// A stranger who finds the warden's port gets nothing, and is in nobody's way.
func TestStranger(t *testing.T) {
	if !need.OwnNetwork(t) {
		return
	}
	g := guard(t, sandbox.Landlock)
	g.env = []string{"SERVICE=1"}
	r, w := io.Pipe()
	var run sync.WaitGroup
	run.Go(func() {
		_, err := g.sandbox.Run(t.Context(), sandbox.Command{
			Args: []string{"/bin/bash", "-c", "echo started; until [ -e go ]; do sleep 0.01; done; exec 3<>/dev/tcp/127.0.0.1/3128; head -c 5 <&3"},
			Env:  []string{"PATH=/usr/bin:/bin"}, Dir: g.workspace, Stdout: w, Stderr: w, Proxy: g.serve,
		})
		w.CloseWithError(errors.Join(err, io.EOF))
	})
	head := make([]byte, len("started\n"))
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	var strangers []net.Conn
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "0A" {
			continue
		}
		port, err := strconv.ParseUint(f[1][len(f[1])-4:], 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
				strangers = append(strangers, c)
			}
		}
	}
	if err := os.WriteFile(g.workspace+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(r)
	run.Wait()
	if string(said) != "hello" || g.calls.Load() != 1 {
		t.Errorf("the command heard %q, %v; the proxy had %d calls", said, err, g.calls.Load())
	}
	if len(strangers) < 5 {
		t.Errorf("nothing listened: %d", len(strangers))
	}
	for _, c := range strangers {
		if got, _ := io.ReadAll(c); len(got) > 0 && string(got) != secret {
			t.Errorf("a stranger heard %q", got)
		}
		c.Close()
	}
}

// The network that is wanted is had, or the start says why not.
func TestNetworks(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		kind sandbox.Kind
		want sandbox.Network
		got  sandbox.Network
		says string
	}{
		{sandbox.Landlock, "", sandbox.Guarded, "network guarded"},
		{sandbox.Landlock, sandbox.AutoNetwork, sandbox.Guarded, "network guarded"},
		{sandbox.Bwrap, sandbox.Guarded, sandbox.Guarded, "network guarded"},
		{sandbox.Bwrap, sandbox.None, sandbox.None, "network none"},
		{sandbox.Landlock, sandbox.Open, sandbox.Open, "network open"},
		{sandbox.Off, "", sandbox.Open, "commands can do what the bot's user can"},
		{sandbox.Off, sandbox.Guarded, "", "needs a sandbox"},
		{sandbox.Off, sandbox.None, "", "needs a sandbox"},
		{sandbox.Landlock, "closed", "", `network "closed"; want guarded, open or none`},
	} {
		s, err := sandbox.New(sandbox.Options{Want: c.kind, Write: []string{dir}, Network: c.want})
		if c.got == "" {
			if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s %s: %v", c.kind, c.want, err)
			}
			continue
		}
		if err != nil || s.Network() != c.got || s.Report().Network != c.got || !strings.Contains(s.Report().Text, c.says) {
			t.Errorf("%s %s: %+v, %v", c.kind, c.want, s.Report(), err)
		}
	}
	s, err := sandbox.New(sandbox.Options{Want: sandbox.Off, Write: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), sandbox.Command{Args: []string{"/bin/true"}, Dir: dir, Network: sandbox.None}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("one command's, without a sandbox: %v", err)
	}
}
