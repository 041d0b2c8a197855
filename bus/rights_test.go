package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// guarded starts one server with the shipped configuration of the cluster, and
// returns its URL and the folder with the seed of each role. How the roles do
// their work in a whole cluster, TestCluster of internal/app shows.
func guarded(t *testing.T) (url, keys string) {
	t.Helper()
	return guardedWithout(t, "")
}

// guardedWithout is guarded without something that stands in the configuration.
func guardedWithout(t *testing.T, grant string) (url, keys string) {
	t.Helper()
	raw, err := os.ReadFile("../deploy/nats/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if grant != "" && !strings.Contains(string(raw), grant) {
		t.Fatalf("nats.conf does not hold %s", grant)
	}
	raw = bytes.ReplaceAll(raw, []byte(grant), nil)
	text := strings.NewReplacer(`$SERVER_NAME`, `"alone"`, `"0.0.0.0:4222"`, `"127.0.0.1:-1"`, `"/data"`, `"`+dir+`/data"`).Replace(string(raw))
	text = regexp.MustCompile(`(?ms)^cluster \{.*?^\}\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^http: .*\n`).ReplaceAllString(text, "")
	var public []string
	for _, role := range roles {
		key, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err1 := key.Seed()
		name, err2 := key.PublicKey()
		err3 := os.WriteFile(filepath.Join(dir, role), seed, 0o600)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		public = append(public, fmt.Sprintf("%s_KEY: %q", strings.ToUpper(role), name))
	}
	public = append(public, "")
	for name, text := range map[string]string{"nats.conf": text, "keys/keys.conf": strings.Join(public, "\n")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "nats://" + natsFrom(t, filepath.Join(dir, "nats.conf")), dir
}

var roles = []string{"gateway", "agent", "cron", "admin"}

var agentRole = bus.Role{Inbox: "agent", Writes: []bus.Stream{bus.In, bus.Out, bus.Hist, bus.Dead, bus.Seen}}

// What each key may, and what only another's may: the subjects are those of
// streams, buckets and the server's interface.
func TestRightsOfRoles(t *testing.T) {
	url, keys := guarded(t)
	bustest.Open(t, bus.Options{URL: url, CredsFile: filepath.Join(keys, "agent"), Role: agentRole})
	const g, a, c = "gateway", "agent", "cron"
	for _, row := range []struct {
		subject string
		may     string // roles that may publish; admin may always
	}{
		{"in.sid.person", g + a + c},
		{"out.telegram.sid", g + a + c},
		{"hist.sid", a},
		{"dlq.out.telegram.sid", g + a},
		{"wake.sid.msg", g + a + c},
		{"ev.sid.turn", g + a},
		{"ev.pause", g + a},
		{"ev.pause.id", g + a + c},
		{"seen.sid", a},
		{"$KV.turn.k", a},
		{"$KV.sess.k", a},
		{"$KV.meta.schema", a},
		{"receipt.sid", g},
		{"$KV.state.channel.telegram.k", g},
		{"$KV.state.drafts.k", g},
		{"$KV.state.pairs.k", g + a},
		{"$KV.state.pairs.room.k", g + a}, // the talk of groups
		{"$KV.state.files.k", g + a},
		{"$KV.state.jobs.k", g + a + c},
		{"$KV.state.buttons.k", a + c},
		{"$KV.state.desk.room.rang.k", a + c},
		{"$KV.state.desk.room.last", a},
		{"$KV.state.budgets.k", a},
		{"$KV.state.audit.k", a},
		{"$KV.state.approvals.k", a},
		{"$KV.state.memory.k", a},
		{"$KV.lease.sid", a},
		{"$KV.lease.out.telegram", g},
		{"$KV.lease.hold.files", g + a},
		{"$KV.lease.hold.ready.write", g + a + c},
		{"$O.media.C.x", g + a},
		{"$JS.API.STREAM.INFO.IN", g + a + c},
		{"$JS.API.STREAM.MSG.GET.IN", a},
		{"$JS.API.DIRECT.GET.IN.in.sid.person", a},
		{"$JS.API.STREAM.MSG.GET.HIST", a},
		{"$JS.API.DIRECT.GET.HIST.hist.sid", a},
		{"$JS.API.STREAM.MSG.GET.KV_sess", a + c},
		{"$JS.API.STREAM.MSG.GET.DLQ", a},
		{"$JS.API.STREAM.MSG.GET.IDS", g + a},
		{"$JS.API.CONSUMER.CREATE.IDS.n.seen.sid", g + a},
		{"$JS.API.CONSUMER.MSG.NEXT.IDS.n", g + a},
		{"$JS.API.STREAM.MSG.GET.KV_state", g + a + c},
		{"$JS.API.STREAM.MSG.GET.OUT", g + a},
		{"$JS.API.STREAM.MSG.DELETE.IN", a},
		{"$JS.API.STREAM.MSG.DELETE.HIST", ""},
		{"$JS.API.STREAM.MSG.DELETE.OUT", ""},
		{"$JS.API.STREAM.CREATE.X", a},
		{"$JS.API.STREAM.NAMES", a},
		{"$JS.API.STREAM.UPDATE.HIST", a},
		{"$JS.API.STREAM.PURGE.KV_lease", g + a},
		{"$JS.API.STREAM.PURGE.IN", ""},
		{"$JS.API.STREAM.PURGE.HIST", ""},
		{"$JS.API.STREAM.DELETE.IN", ""},
		{"$JS.API.STREAM.DELETE.HIST", ""},
		{"$JS.API.STREAM.DELETE.KV_state", ""},
		{"$JS.API.STREAM.SNAPSHOT.HIST", ""},
		{"$JS.API.STREAM.RESTORE.HIST", ""},
		{"$JS.API.CONSUMER.CREATE.OUT.n", g},
		{"$JS.API.CONSUMER.MSG.NEXT.OUT.n", g},
		{"$JS.ACK.OUT.n.1.1.1.1.0", g},
		{"$JS.API.CONSUMER.CREATE.IN.n", ""},
		{"$JS.API.CONSUMER.CREATE.HIST.n", a},
		{"$JS.API.CONSUMER.MSG.NEXT.HIST.n", a},
		{"$JS.API.CONSUMER.CREATE.DLQ.n", a},
		{"$JS.API.CONSUMER.MSG.NEXT.DLQ.n", a},
		{"$JS.API.CONSUMER.CREATE.KV_turn.n", a},
		{"$JS.API.CONSUMER.CREATE.KV_state.n", g + a + c},
		{"$JS.API.CONSUMER.CREATE.KV_sess.n", a},
		{"anything.else", ""},
	} {
		// In compose.cluster.yml agents are cron too, with the key of an agent.
		if strings.Contains(row.may, c) && !strings.Contains(row.may, a) {
			t.Errorf("cron may publish to %s and an agent may not", row.subject)
		}
		for _, role := range roles {
			want := role == "admin" || strings.Contains(row.may, role)
			if got := permitted(t, url, keys, role, func(nc *nats.Conn) error { return nc.Publish(row.subject, nil) }); got != want {
				t.Errorf("%s may publish to %s: %v, want %v", role, row.subject, got, want)
			}
		}
	}
	for subject, may := range map[string]string{
		"_INBOX.gateway.x.*": g, "_INBOX.agent.x.*": a, "_INBOX.cron.x.*": c, "_INBOX.>": "",
		"wake.*.*": a, "ev.>": g + a, "ev.pause": g + a + c, "in.>": "", "out.>": "", "hist.>": "", "$KV.>": "", ">": "",
	} {
		for _, role := range roles {
			want := role == "admin" || strings.Contains(may, role)
			got := permitted(t, url, keys, role, func(nc *nats.Conn) error {
				_, err := nc.SubscribeSync(subject)
				return err
			})
			if got != want {
				t.Errorf("%s may hear %s: %v, want %v", role, subject, got, want)
			}
		}
	}
}

// permitted does something with the key of a role and asks whether the server
// refused it.
func permitted(t *testing.T, url, keys, role string, do func(*nats.Conn) error) bool {
	t.Helper()
	auth, err := nats.NkeyOptionFromSeed(filepath.Join(keys, role))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(url, auth, nats.NoReconnect(), nats.Timeout(deadline), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := do(nc); err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushTimeout(deadline); err != nil { // a refusal comes before its answer
		t.Fatal(err)
	}
	return !strings.Contains(fmt.Sprint(nc.LastError()), "ermissions")
}

// Without a key nobody gets in.
func TestNoKeyNoConnection(t *testing.T) {
	url, keys := guarded(t)
	if nc, err := nats.Connect(url); err == nil {
		nc.Close()
		t.Error("somebody without a key is let in")
	}
	stranger, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := stranger.Seed()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(keys, "stranger")
	if err := os.WriteFile(path, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := bus.Open(testContext(t), bus.Options{URL: url, CredsFile: path}); err == nil {
		_ = b.Close()
		t.Error("a key that nobody knows is let in")
	} else if strings.Contains(err.Error(), string(seed)) {
		t.Error("the error holds the seed")
	}
}

// A gateway that starts first waits for the agent that makes the streams.
func TestFollowerWaitsForTheLayout(t *testing.T) {
	url, keys := guarded(t)
	opened := make(chan *bus.Bus, 1)
	go func() {
		b, err := bus.Open(testContext(t), bus.Options{
			URL: url, CredsFile: filepath.Join(keys, "gateway"),
			Role: bus.Role{Inbox: "gateway", Writes: []bus.Stream{bus.In, bus.Out, bus.Dead, bus.Receipt}, Follows: true},
		})
		if err != nil {
			t.Errorf("the gateway: %v", err)
		}
		opened <- b
	}()
	agent := bustest.Open(t, bus.Options{URL: url, CredsFile: filepath.Join(keys, "agent"), Role: agentRole})
	gateway := receive(t, opened)
	if gateway == nil {
		return
	}
	defer func() {
		if err := gateway.Close(); err != nil {
			t.Error(err)
		}
	}()
	// A message goes all the way: taken by the gateway, answered by the agent,
	// delivered by the gateway.
	delivered := make(chan string, 1)
	own(t, agent, echo, nil)
	dispatch(t, gateway, "c", func(_ context.Context, out chat.Outbound) error {
		delivered <- out.Text
		return nil
	})
	publish(t, gateway, inbound("c", "1", 7))
	if text := receive(t, delivered); text != "7" {
		t.Errorf("delivered %q", text)
	}
}
