package feishu_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	fake "magpie/internal/fakes/feishu"
	"magpie/internal/fakes/nodetest"
)

const ann = "ou_ann"

func serve(t *testing.T, o *fake.Options) (s *fake.Server, url, chat string) {
	t.Helper()
	s = fake.New(o)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	return s, web.URL, s.AddPerson(fake.Person{ID: ann, Name: "Ann"})
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until waits for what announces itself by nothing.
func until(ctx context.Context, t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("never: " + what)
		}
	}
}

// connected waits for a bot on the long connection.
func connected(ctx context.Context, t *testing.T, s *fake.Server) {
	t.Helper()
	until(ctx, t, "a connection", func() bool {
		_, _, pings := s.Lines()
		return pings > 0
	})
}

// TestNodeSDK lets a bot on the platform's Node.js SDK talk with the fake: long
// connection, texts, edits, cards and presses, CardKit, files, reactions and
// an error.
func TestNodeSDK(t *testing.T) {
	node, modules := nodetest.Find(t, "@larksuiteoapi/node-sdk")
	s, url, chat := serve(t, &fake.Options{AckWait: time.Minute}) // so that nothing comes twice
	var out bytes.Buffer
	ctx := bounded(t)
	cmd := exec.CommandContext(ctx, node, "testdata/sdk.cjs", url, s.AppID(), s.Secret())
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := func(ok func([]fake.Message) bool) []fake.Message {
		t.Helper()
		shown, err := s.Wait(ctx, chat, ok)
		if err != nil {
			_ = cmd.Process.Kill() // it is waited for to read what it printed
			_ = cmd.Wait()
			t.Fatalf("%v\nthe bot said:\n%s", err, out.String())
		}
		return shown
	}
	connected(ctx, t, s)
	s.Split(200) // the SDK puts events together from pieces
	asked := s.Say(fake.Said{From: ann, Text: "你好"})
	shown := wait(func(m []fake.Message) bool { return len(m) == 2 && len(s.Reactions(asked)) == 0 })
	if shown[0].Text != "echo: 你好, edited" || shown[0].ReplyTo != asked || shown[1].Text != "Shall I?" {
		t.Errorf("the chat shows %+v", shown)
	}
	if _, err := s.Press(ann, shown[1].ID, "yes"); err != nil {
		t.Fatal(err)
	}
	wait(func(m []fake.Message) bool { return m[1].Text == "pressed yes" && m[1].Buttons == nil })
	s.Say(fake.Said{From: ann, Text: "stream"})
	wait(func(m []fake.Message) bool { return len(m) == 3 && m[2].Text == "growing text" && !m[2].Streaming })
	s.Say(fake.Said{From: ann, Text: "refused"})
	wait(func(m []fake.Message) bool { return len(m) == 4 && m[3].Text == "refused 230099" })
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 20, 20))); err != nil {
		t.Fatal(err)
	}
	s.Say(fake.Said{From: ann, Files: []fake.File{{Kind: "image", Data: dot.Bytes()}}})
	for i, m := range wait(func(m []fake.Message) bool { return len(m) == 6 })[4:] {
		if !bytes.Equal(m.File.Data, dot.Bytes()) || i == 1 && m.File.Name != "copy 副本.bin" {
			t.Errorf("file %d: %+v", i, m.File)
		}
	}
	sdkLooks(ctx, t, s, wait)
	until(ctx, t, "the last acknowledgement, after what it is for", func() bool { n, _ := s.Pending(); return n == 0 })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if n, lost := s.Pending(); n+lost != 0 {
		t.Errorf("%d events are not acknowledged, %d lost", n, lost)
	}
}

// sdkLooks lets the SDK's bot read back, hear news of chats and answer a press
// with a toast.
func sdkLooks(ctx context.Context, t *testing.T, s *fake.Server, wait func(func([]fake.Message) bool) []fake.Message) {
	t.Helper()
	const group = "oc_group"
	s.AddGroup(fake.Group{ID: group})
	s.AddPerson(fake.Person{ID: "ou_bob", Name: "Bob"})
	s.AddPerson(fake.Person{ID: "ou_eve", Name: "Eve 夏娃"})
	s.Say(fake.Said{From: ann, Text: "look " + group})
	shown := wait(func(m []fake.Message) bool { return len(m) == 8 })
	if want := fmt.Sprintf("请升级至最新版本客户端，以查看内容 | **read** me | Ann,Bob,Eve 夏娃 | Ann | %d", len(fake.Scopes())); shown[7].Text != want {
		t.Errorf("it found %q, want %q", shown[7].Text, want)
	}
	s.Enter(ann)
	s.Menu(ann, "help")
	wait(func(m []fake.Message) bool {
		return len(m) == 10 && (m[8].Text == "entered by "+ann && m[9].Text == "chose help" || m[9].Text == "entered by "+ann && m[8].Text == "chose help")
	})
	s.Invite(ann, group)
	s.Join(group, "ou_bob", "ou_eve")
	s.Leave(group, "ou_bob")
	gone := s.Say(fake.Said{From: ann, Chat: group, Text: "refused"})
	s.Recall(gone)
	_, err := s.Wait(ctx, group, func(m []fake.Message) bool {
		texts := map[string]bool{}
		for _, one := range m {
			texts[one.Text] = true
		}
		return texts["added by "+ann] && texts["joined Bob,Eve 夏娃"] && texts["left ou_bob"] && texts["recalled "+gone]
	})
	if err != nil {
		t.Errorf("%v: the group shows %+v", err, s.Messages(group))
	}
	button := `{"schema":"2.0","body":{"elements":[{"tag":"button","text":{"tag":"plain_text","content":"T"},"behaviors":[{"type":"callback","value":{"d":"toast"}}]}]}}`
	event, err := s.Press(ann, s.Post(ann, button), "toast")
	if err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the toast", func() bool { return s.Pressed(event).Done })
	if p := s.Pressed(event); p.Toast != "请稍候" || p.Error {
		t.Errorf("who pressed sees %+v", p)
	}
}

// TestGoSDK lets the connection of the Go SDK take events from the fake, and
// be refused by it.
func TestGoSDK(t *testing.T) {
	s, url, _ := serve(t, nil)
	got := make(chan string, 1)
	events := dispatcher.NewEventDispatcher("", "").OnCustomizedEvent("im.message.receive_v1", func(_ context.Context, e *larkevent.EventReq) error {
		got <- string(e.Body)
		return nil
	})
	quiet := larkws.WithLogLevel(4)
	client := larkws.NewClient(s.AppID(), s.Secret(), larkws.WithDomain(url), larkws.WithEventHandler(events), quiet)
	ctx, cancel := context.WithCancel(bounded(t))
	done := make(chan error, 1)
	go func() { done <- client.Start(ctx) }()
	s.Say(fake.Said{From: ann, Text: "to the Go SDK"})
	select {
	case body := <-got:
		if !strings.Contains(body, "to the Go SDK") {
			t.Errorf("got %s", body)
		}
	case <-bounded(t).Done():
		t.Error("nothing came")
	}
	cancel()
	<-done
	wrong := larkws.NewClient(s.AppID(), "wrong", larkws.WithDomain(url), quiet)
	if err := wrong.Start(bounded(t)); err == nil || !strings.Contains(err.Error(), "514") {
		t.Errorf("with a wrong secret: %v", err)
	}
}
