package bus_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// child is what the test program does when it is started as a process to be
// killed. It reports on its standard output, a line an event.
func child(role string) int {
	ctx := context.Background()
	opts := bus.Options{URL: os.Getenv("MAGPIE_BUS_URL"), Dir: os.Getenv("MAGPIE_BUS_DIR")}
	if role == "worker" { // may lose a lease on a slow machine; what it holds is soon free
		opts.Lease = 2 * time.Second
	}
	b, err := bus.Open(ctx, opts)
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	fmt.Println("open")
	switch role {
	case "worker":
		err = b.Own(ctx, echo, nil)
	case "hang": // takes a message, says so, and commits when told to
		err = b.Own(ctx, func(ctx context.Context, mb *bus.Mailbox) error {
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			fmt.Println("took", d.Text, d.Again)
			if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
				return err
			}
			// Commits with a context that does not end, as a zombie would.
			err = mb.Commit(context.Background(), answer(d))
			select {
			case <-ctx.Done():
			case <-time.After(deadline):
			}
			fmt.Println("lost", errors.Is(err, bus.ErrLost), ctx.Err() != nil)
			return err
		}, nil)
	case "deliver":
		err = b.Dispatch(ctx, "c", func(_ context.Context, out chat.Outbound) error {
			fmt.Println("sent", out.Text)
			return nil
		}, func(holds bool) { fmt.Println("holds", holds) })
	case "publish":
		for n := 0; ; n++ {
			if err := b.PublishInbound(ctx, inbound("c", fmt.Sprint(n%50), n), false); err != nil {
				if errors.Is(err, bus.ErrMailboxFull) {
					continue
				}
				fmt.Println("failed", err)
				return 1
			}
			fmt.Println("stored", n)
		}
	}
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	return 0
}

// process is a child with its lines.
type process struct {
	cmd   *exec.Cmd
	stdin io.Writer
	lines chan string
}

// pause stops the child and waits until it has stopped: on a busy machine it
// goes on for a while.
func (p *process) pause(t testing.TB) {
	t.Helper()
	pid := p.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the child is not paused: %v, %v", status, err)
	}
}

func start(t testing.TB, role, url, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), lines: make(chan string, 100_000)}
	p.cmd.Env = append(os.Environ(), "MAGPIE_BUS_CHILD="+role, "MAGPIE_BUS_URL="+url, "MAGPIE_BUS_DIR="+dir)
	p.cmd.Stderr = os.Stderr
	stdin, err1 := p.cmd.StdinPipe()
	stdout, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(p.kill)
	if line := receive(t, p.lines); line != "open" {
		t.Fatalf("child says %q", line)
	}
	return p
}

// kill ends the child as a power loss would, and waits for its end.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		for range p.lines { // until its end is closed: Wait closes the pipe
		}
		_ = p.cmd.Wait()
	}
}

// A user who may not publish everywhere is told at the start which permission
// is missing; its password is not.
func TestMissingPermissionIsNamed(t *testing.T) {
	srv, err := server.NewServer(&server.Options{
		ServerName: "strict", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(),
		Users: []*server.User{{
			Username: "bot", Password: "hunter2",
			Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"hist.>"}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer func() { srv.Shutdown(); srv.WaitForShutdown() }()
	if !srv.ReadyForConnections(deadline) {
		t.Fatal("server does not start")
	}
	addr := srv.Addr().(*net.TCPAddr).String()
	_, err = bus.Open(testContext(t), bus.Options{URL: "nats://bot:hunter2@" + addr})
	if err == nil || !strings.Contains(err.Error(), "hist.") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error that names hist and no password", err)
	}
	_, err = bus.Open(testContext(t), bus.Options{URL: "nats://bot:wrong77@" + addr})
	if err == nil || strings.Contains(err.Error(), "wrong77") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

func dial(t testing.TB, url string) *bus.Bus {
	return bustest.Open(t, bus.Options{URL: url})
}

// Three workers, one of which is killed again and again: every message is
// answered once, and each chat in order.
func TestThreeWorkersOneKilledAgainAndAgain(t *testing.T) {
	url := bustest.External(t)
	b := dial(t, url)
	start(t, "worker", url, "")
	start(t, "worker", url, "")
	victim := start(t, "worker", url, "")
	const chats, each = 12, 40
	var mu sync.Mutex
	got := map[string][]string{}
	all := make(chan struct{}, chats*each)
	dispatch(t, b, "c", func(_ context.Context, out chat.Outbound) error {
		mu.Lock()
		got[out.Addr.Chat] = append(got[out.Addr.Chat], out.Text)
		mu.Unlock()
		all <- struct{}{}
		return nil
	})
	want := map[string][]string{}
	for i := range each {
		for c := range chats {
			publish(t, b, inbound("c", fmt.Sprint(c), i))
			want[fmt.Sprint(c)] = append(want[fmt.Sprint(c)], fmt.Sprint(i))
		}
		if i%4 == 3 {
			victim.kill()
			victim = start(t, "worker", url, "")
		}
	}
	for range chats * each {
		receive(t, all)
	}
	mu.Lock()
	defer mu.Unlock()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What was acknowledged is there after SIGKILL of the process that holds the
// embedded store.
func TestAcknowledgedMessagesSurviveSIGKILL(t *testing.T) {
	dir := t.TempDir()
	stored := map[string]bool{}
	for round := range 4 {
		p := start(t, "publish", "", dir)
		for range 150 {
			line := receive(t, p.lines)
			if n, ok := strings.CutPrefix(line, "stored "); ok {
				stored[n] = true
			}
		}
		_ = p.cmd.Process.Kill()
		for line := range p.lines { // what it said before it died counts too
			if n, ok := strings.CutPrefix(line, "stored "); ok {
				stored[n] = true
			}
		}
		p.kill()
		b, err := bus.Open(testContext(t), bus.Options{Dir: dir})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		got := make(chan chat.Delivery, 10_000)
		stop := own(t, b, collect(got), nil)
		found := map[string]bool{}
		until(t, "mailbox empty", func() bool { n, err := b.Waiting(testContext(t), false); return err == nil && n == 0 })
		stop()
		close(got)
		for d := range got {
			found[d.Text] = true
		}
		for n := range stored {
			if !found[n] && round == 0 {
				t.Errorf("round %d: message %s was acknowledged and is gone", round, n)
			}
		}
		if round == 0 && len(found) == 0 {
			t.Fatal("nothing was stored")
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A lease that was renewed still runs out after its holder was killed (a plain
// update of the bucket would make it last for ever), and the next holder
// learns that the message may have been begun.
func TestRenewedLeaseOfDeadHolderRunsOut(t *testing.T) {
	t.Parallel()
	url := bustest.External(t)
	b := dial(t, url)
	p := start(t, "hang", url, "")
	publish(t, b, inbound("c", "1", 1))
	if line := receive(t, p.lines); line != "took 1 false" {
		t.Fatalf("child says %q", line)
	}
	got := make(chan chat.Delivery, 1)
	own(t, b, collect(got), nil)
	// Longer than the lease: the child renews, nobody else gets the chat.
	select {
	case <-got:
		t.Fatal("the chat was taken from a living holder")
	case <-time.After(12 * time.Second):
	}
	p.kill()
	if d := receive(t, got); d.Text != "1" || !d.Again {
		t.Errorf("got %q again=%v, want 1 again=true", d.Text, d.Again)
	}
}

// A worker that is paused beyond its lease is a zombie: another one answers,
// and when it wakes up its commit is refused.
func TestZombieCommitIsRefused(t *testing.T) {
	t.Parallel()
	url := bustest.External(t)
	b := dial(t, url)
	p := start(t, "hang", url, "")
	publish(t, b, inbound("c", "1", 1))
	if line := receive(t, p.lines); line != "took 1 false" {
		t.Fatalf("child says %q", line)
	}
	p.pause(t)
	got := make(chan chat.Delivery, 10)
	own(t, b, collect(got), nil)
	receive(t, got)
	until(t, "mailbox empty", func() bool { n, err := b.Waiting(testContext(t), false); return err == nil && n == 0 })
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(p.stdin, "go on"); err != nil {
		t.Fatal(err)
	}
	if line := receive(t, p.lines); line != "lost true true" {
		t.Errorf("child says %q, want its commit refused and its context ended", line)
	}
	records, err := b.History(testContext(t), chat.Address{Channel: "c", Chat: "1"}.Session(), 0)
	if err != nil || len(records) != 1 {
		t.Errorf("%d records, %v; want 1", len(records), err)
	}
}

// Two who ask for the same name never hold it at once, and both get their turn.
func TestHoldIsForOneAtATime(t *testing.T) {
	b := bustest.New(t)
	var mu sync.Mutex
	inside, turns := 0, map[string]int{}
	elsewhere := map[string]int{}
	met := make(chan struct{}) // one has asked while the other held it
	meet := sync.OnceFunc(func() { close(met) })
	hold := func(name string) {
		background(t, func(ctx context.Context) error {
			return b.Hold(ctx, "telegram", func(ctx context.Context) error {
				mu.Lock()
				if inside++; inside > 1 {
					t.Error("held twice at once")
				}
				turns[name]++
				mu.Unlock()
				select {
				case <-met:
				case <-ctx.Done():
				}
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			}, func() {
				mu.Lock()
				defer mu.Unlock()
				elsewhere[name]++
				meet()
			})
		})
	}
	hold("a")
	hold("b")
	until(t, "both had their turn and knew of the other's", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return min(turns["a"], turns["b"]) > 1 && elsewhere["a"]+elsewhere["b"] > 0
	})
}
