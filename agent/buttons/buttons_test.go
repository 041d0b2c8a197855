package buttons_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/agent/buttons"
	"magpie/chat"
	"magpie/internal/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	room  = chat.Address{Channel: "telegram", Chat: "-100"}
	yesNo = []buttons.Choice{{Label: "Yes"}, {Label: "不", Payload: "不要"}}
)

// mailbox takes what is said, each id once, as a chat's mailbox does.
type mailbox struct {
	mu   sync.Mutex
	said []chat.Inbound
	ids  map[string]bool
	err  error
}

func (m *mailbox) Say(_ context.Context, in chat.Inbound) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.ids == nil {
		m.ids = map[string]bool{}
	}
	if !m.ids[in.ID] {
		m.ids[in.ID] = true
		m.said = append(m.said, in)
	}
	return nil
}

func pressed(id, from, data string) chat.Inbound {
	return chat.Inbound{
		Meta: chat.Meta{V: 1, ID: id, Trace: "t", Addr: room}, Origin: chat.FromPerson,
		From: chat.Sender{ID: from}, Press: &chat.Press{ID: "p-" + id, Data: data, Message: "77"},
	}
}

func makeButtons(t *testing.T, r *buttons.Registry, spec buttons.Spec) []chat.Button {
	t.Helper()
	spec.Addr = room
	if spec.Action == "" {
		spec.Action = buttons.SayAction
	}
	made, err := r.Make(t.Context(), spec, yesNo)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func press(t *testing.T, r *buttons.Registry, m *mailbox, in chat.Inbound) buttons.Outcome {
	t.Helper()
	out, err := r.Press(t.Context(), in, "en", m.Say)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSay(t *testing.T) {
	r, m := buttons.New(new(kv.Memory), nil), new(mailbox)
	made := makeButtons(t, r, buttons.Spec{Once: true})
	if made[0].Label != "Yes" || made[1].Label != "不" || made[0].Data == made[1].Data || len(made[1].Data) > 64 {
		t.Errorf("made %+v", made)
	}
	out := press(t, r, m, pressed("1", "ann", made[1].Data))
	want := buttons.Outcome{Verdict: buttons.Done, Answer: chat.Answer{Press: "p-1", Notice: "不", Message: "77"}}
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
	if len(m.said) != 1 || m.said[0].Text != "不要" || m.said[0].From.ID != "ann" || m.said[0].Press != nil || m.said[0].Addr != room {
		t.Errorf("said %+v", m.said)
	}
	// The same press again: same outcome, nothing said. Another one: too late.
	if d := cmp.Diff(want, press(t, r, m, pressed("1", "ann", made[1].Data))); d != "" {
		t.Error(d)
	}
	if out := press(t, r, m, pressed("2", "bob", made[0].Data)); out.Verdict != buttons.Used || out.Answer.Message != "77" || out.Answer.Notice == "" {
		t.Errorf("second press: %+v", out)
	}
	if len(m.said) != 1 {
		t.Errorf("said %d times", len(m.said))
	}
}

func TestForeign(t *testing.T) {
	r, m := buttons.New(new(kv.Memory), nil), new(mailbox)
	made := makeButtons(t, r, buttons.Spec{Once: true, Senders: []string{"ann"}})
	elsewhere := pressed("1", "ann", made[0].Data)
	elsewhere.Addr.Chat = "other"
	for _, in := range []chat.Inbound{pressed("2", "bob", made[0].Data), pressed("3", "", made[0].Data), elsewhere} {
		if out := press(t, r, m, in); out.Verdict != buttons.Foreign || out.Answer.Message != "" || out.Answer.Notice == "" {
			t.Errorf("press by %q in %s: %+v", in.From.ID, in.Addr, out)
		}
	}
	if out := press(t, r, m, pressed("4", "ann", made[0].Data)); out.Verdict != buttons.Done {
		t.Errorf("the right person: %+v", out)
	}
}

func TestExpired(t *testing.T) {
	now := time.Now()
	r, m := buttons.New(new(kv.Memory), &buttons.Options{Now: func() time.Time { return now }}), new(mailbox)
	made := makeButtons(t, r, buttons.Spec{Expires: time.Hour})
	now = now.Add(time.Hour - 1)
	if out := press(t, r, m, pressed("1", "ann", made[0].Data)); out.Verdict != buttons.Done || out.Answer.Message != "" {
		t.Errorf("just in time: %+v", out)
	}
	now = now.Add(1)
	if out := press(t, r, m, pressed("2", "ann", made[0].Data)); out.Verdict != buttons.Expired || out.Answer.Message != "77" {
		t.Errorf("too late: %+v", out)
	}
	good := made[0].Data
	for _, data := range []string{"", "b:", "x", strings.Replace(good, ":0", ":2", 1), strings.Replace(good, ":0", ":00", 1), strings.Replace(good, ":0", ":-1", 1), good + "0", "b:AAAAAAAAAAAAAAAAAAAAAAAAAA:0", strings.ToLower(good), good[:len(good)-1] + "99999999999"} {
		out, err := r.Press(t.Context(), pressed("3", "ann", data), "zh", m.Say)
		if err != nil || out.Verdict != buttons.Expired || out.Answer.Notice != "这个按钮已过期。" {
			t.Errorf("data %q: %+v, %v", data, out, err)
		}
	}
}

func TestManyPressesOfMany(t *testing.T) {
	table, m := new(kv.Memory), new(mailbox)
	made := makeButtons(t, buttons.New(table, nil), buttons.Spec{Once: true})
	var mu sync.Mutex
	verdicts := map[buttons.Verdict]int{}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { // each through a registry of its own, as processes do
			out, err := buttons.New(table, nil).Press(t.Context(), pressed(fmt.Sprint(i), fmt.Sprint("u", i), made[i%2].Data), "en", m.Say)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			verdicts[out.Verdict]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if d := cmp.Diff(map[buttons.Verdict]int{buttons.Done: 1, buttons.Used: 31}, verdicts); d != "" {
		t.Error(d)
	}
	if len(m.said) != 1 {
		t.Errorf("said %d times", len(m.said))
	}
}

// overtaken lets somebody else act just before the first Update.
type overtaken struct {
	kv.Table
	first func()
}

func (o *overtaken) Update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if first := o.first; first != nil {
		o.first = nil
		first()
	}
	return o.Table.Update(ctx, key, value, revision, ttl)
}

func TestOvertaken(t *testing.T) {
	for _, once := range []bool{true, false} {
		table, m := &overtaken{Table: new(kv.Memory)}, new(mailbox)
		made := makeButtons(t, buttons.New(table, nil), buttons.Spec{Once: once})
		table.first = func() {
			if out := press(t, buttons.New(table.Table, nil), m, pressed("1", "ann", made[0].Data)); out.Verdict != buttons.Done {
				t.Errorf("the faster one: %+v", out)
			}
		}
		want, said := buttons.Done, 2
		if once {
			want, said = buttons.Used, 1
		}
		if out := press(t, buttons.New(table, nil), m, pressed("2", "bob", made[0].Data)); out.Verdict != want || len(m.said) != said {
			t.Errorf("once %v: the slower one: %+v, said %d times", once, out, len(m.said))
		}
	}
}

func TestNotOnceCountsEachPress(t *testing.T) {
	r, m := buttons.New(new(kv.Memory), nil), new(mailbox)
	made := makeButtons(t, r, buttons.Spec{})
	for i := range 40 {
		in := pressed(fmt.Sprint(i), "ann", made[0].Data)
		for range 2 { // delivered twice
			if out := press(t, r, m, in); out.Verdict != buttons.Done || out.Answer.Message != "" {
				t.Fatalf("press %d: %+v", i, out)
			}
		}
	}
	if len(m.said) != 40 {
		t.Errorf("said %d times, want 40", len(m.said))
	}
}

func TestActions(t *testing.T) {
	runs := 0
	broken := errors.New("out of order")
	r := buttons.New(new(kv.Memory), &buttons.Options{Actions: map[string]buttons.Action{
		"approve": func(_ context.Context, p buttons.Pressed) (buttons.Result, error) {
			if runs++; runs == 1 {
				return buttons.Result{}, broken
			}
			return buttons.Result{Notice: "ok", Text: "**approved** by " + p.In.From.ID}, nil
		},
	}})
	made := makeButtons(t, r, buttons.Spec{Once: true, Action: "approve"})
	out := press(t, r, nil, pressed("1", "ann", made[0].Data))
	if out.Verdict != buttons.Failed || !errors.Is(out.Err, broken) || out.Answer.Message != "" || strings.Contains(out.Answer.Notice, "order") {
		t.Errorf("failed action: %+v", out)
	}
	for range 2 {
		out = press(t, r, nil, pressed("2", "ann", made[0].Data))
		if out.Verdict != buttons.Done || out.Answer.Notice != "ok" || out.Text != "**approved** by ann" {
			t.Errorf("second press: %+v", out)
		}
	}
	if runs != 2 {
		t.Errorf("the action ran %d times, want 2", runs)
	}
}

// TestCrash cuts an action off: the same press delivered again runs it to its
// end, and nobody else gets in between.
func TestCrash(t *testing.T) {
	table, m := new(kv.Memory), new(mailbox)
	made := makeButtons(t, buttons.New(table, nil), buttons.Spec{Once: true})
	ctx, kill := context.WithCancel(t.Context())
	_, err := buttons.New(table, nil).Press(ctx, pressed("1", "ann", made[0].Data), "en", func(context.Context, chat.Inbound) error {
		kill()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v, want ctx's", err)
	}
	r := buttons.New(table, nil) // after the restart
	if out := press(t, r, m, pressed("2", "bob", made[0].Data)); out.Verdict != buttons.Used {
		t.Errorf("another press: %+v", out)
	}
	if out := press(t, r, m, pressed("1", "ann", made[0].Data)); out.Verdict != buttons.Done || len(m.said) != 1 {
		t.Errorf("the same press again: %+v, said %d times", out, len(m.said))
	}
}

func TestMakeRefuses(t *testing.T) {
	r := buttons.New(new(kv.Memory), nil)
	spec := buttons.Spec{Addr: room, Action: buttons.SayAction}
	for name, err := range map[string]error{
		"unknown action": second(r.Make(t.Context(), buttons.Spec{Action: "x"}, yesNo)),
		"none":           second(r.Make(t.Context(), spec, nil)),
		"101":            second(r.Make(t.Context(), spec, make([]buttons.Choice, 101))),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	made, err := r.Make(t.Context(), spec, make([]buttons.Choice, 100))
	if err != nil || len(made) != 100 {
		t.Fatalf("100 buttons: %v", err)
	}
	if out := press(t, r, new(mailbox), pressed("1", "ann", made[99].Data)); out.Verdict != buttons.Done {
		t.Errorf("the last of 100: %+v", out)
	}
	if _, err := r.Press(t.Context(), chat.Inbound{}, "en", nil); err == nil {
		t.Errorf("a message that is no press is accepted")
	}
}

func second(_ []chat.Button, err error) error { return err }

func FuzzPress(f *testing.F) {
	f.Add("b:AAAAAAAAAAAAAAAAAAAAAAAAAA:0")
	f.Add("b:::")
	f.Add("\xff")
	r := buttons.New(new(kv.Memory), nil)
	f.Fuzz(func(t *testing.T, data string) {
		out, err := r.Press(t.Context(), pressed("1", "ann", data), "en", nil)
		if err != nil || out.Verdict != buttons.Expired {
			t.Errorf("%q: %+v, %v", data, out, err)
		}
	})
}

// What a press leads to may be pressed in its turn: by the same people, once,
// and made once however often the first press is delivered.
func TestRowsAfterAPress(t *testing.T) {
	runs := 0
	r := buttons.New(new(kv.Memory), &buttons.Options{Actions: map[string]buttons.Action{
		"reminder": func(_ context.Context, p buttons.Pressed) (buttons.Result, error) {
			if runs++; p.Choice.Payload == "undo" {
				return buttons.Result{Notice: "back"}, nil
			}
			return buttons.Result{Text: "removed", Rows: [][]buttons.Choice{{{Label: "Undo", Payload: "undo"}}, {}, {{Label: "Other"}, {Label: "Last"}}}}, nil
		},
	}})
	made, err := r.MakeRows(t.Context(), buttons.Spec{Addr: room, Once: true, Action: "reminder", Senders: []string{"ann"}}, [][]buttons.Choice{yesNo})
	if err != nil || len(made) != 1 || len(made[0]) != 2 {
		t.Fatalf("made %+v, %v", made, err)
	}
	first := press(t, r, nil, pressed("1", "ann", made[0][0].Data))
	if len(first.Buttons) != 2 || len(first.Buttons[0]) != 1 || len(first.Buttons[1]) != 2 || first.Buttons[1][1].Label != "Last" || first.Text != "removed" {
		t.Fatalf("the press leads to %+v", first)
	}
	if d := cmp.Diff(first, press(t, r, nil, pressed("1", "ann", made[0][0].Data))); d != "" || runs != 1 {
		t.Errorf("the same press again: %s, %d runs", d, runs)
	}
	undo := first.Buttons[0][0].Data
	if out := press(t, r, nil, pressed("2", "bob", undo)); out.Verdict != buttons.Foreign {
		t.Errorf("somebody else: %+v", out)
	}
	if out := press(t, r, nil, pressed("3", "ann", undo)); out.Verdict != buttons.Done || out.Answer.Notice != "back" || out.Answer.Message != "77" {
		t.Errorf("undo: %+v", out)
	}
	if out := press(t, r, nil, pressed("4", "ann", first.Buttons[1][0].Data)); out.Verdict != buttons.Used {
		t.Errorf("after undo: %+v", out)
	}
}
