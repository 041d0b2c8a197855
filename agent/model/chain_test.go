package model_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/agent/llm"
	"magpie/agent/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one answer of a scripted provider: some text, then an error or the
// end. hang waits for ctx.
type step struct {
	text  []string
	usage llm.Usage
	err   error
	hang  bool
}

// scripted answers with its steps in order; the last one is repeated.
type scripted struct {
	name  string
	steps []step

	mu    sync.Mutex
	asked []llm.Request
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func (s *scripted) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		s.mu.Lock()
		st := s.steps[min(len(s.asked), len(s.steps)-1)]
		s.asked = append(s.asked, req)
		s.mu.Unlock()
		for _, piece := range st.text {
			if !yield(llm.Event{Text: piece}, nil) {
				return
			}
		}
		switch {
		case st.hang:
			<-ctx.Done()
			yield(llm.Event{}, ctx.Err())
		case st.err != nil:
			yield(llm.Event{}, st.err)
		default:
			text := strings.Join(st.text, "")
			yield(llm.Event{Done: &llm.Reply{Message: llm.Message{Role: llm.Assistant, Text: text}, Usage: st.usage, Model: s.name}}, nil)
		}
	}
}

func fail(kind llm.Kind) error {
	return &llm.Error{Provider: "x", Kind: kind, Err: errors.New("secret detail of the server")}
}

func says(text string) step {
	return step{text: []string{text}, usage: llm.Usage{Input: 10, Output: 5}}
}

func chain(t *testing.T, ledger *model.Ledger, providers ...*scripted) *model.Chain {
	t.Helper()
	var models []model.Model
	for i, p := range providers {
		models = append(models, model.Model{Provider: p, Context: 1000 * (i + 1), MaxOutput: 100, Timeout: time.Minute})
	}
	c, err := model.New(models, &model.Options{Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hello() model.Question {
	return model.Question{Session: "s", Payer: "telegram:1", Request: llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "你好"}}}}
}

func TestAskRetriesAndFallsBack(t *testing.T) {
	cases := []struct {
		name         string
		first        []step
		second       []step
		asked1       int
		asked2       int
		want         string
		least, below time.Duration // of the back-off
	}{
		{"answers", []step{says("a")}, []step{says("b")}, 1, 0, "a", 0, 1},
		{"temporary then answers", []step{{err: fail(llm.Temporary)}, says("a")}, []step{says("b")}, 2, 0, "a", 500 * time.Millisecond, 1001 * time.Millisecond},
		{"third try", []step{{err: fail(llm.Temporary)}, {err: fail(llm.RateLimited)}, says("a")}, []step{says("b")}, 3, 0, "a", 1500 * time.Millisecond, 3001 * time.Millisecond},
		{"never a fourth", []step{{err: fail(llm.Temporary)}}, []step{says("b")}, 3, 1, "b", 1500 * time.Millisecond, 3001 * time.Millisecond},
		{"unauthorized goes on at once", []step{{err: fail(llm.Unauthorized)}}, []step{says("b")}, 1, 1, "b", 0, 1},
		{"rejected goes on at once", []step{{err: fail(llm.Rejected)}}, []step{says("b")}, 1, 1, "b", 0, 1},
		{"too long goes to the larger one", []step{{err: fail(llm.TooLong)}}, []step{says("b")}, 1, 1, "b", 0, 1},
		{"retry-after is kept", []step{{err: &llm.Error{Kind: llm.RateLimited, RetryAfter: 30 * time.Second, Err: errors.New("slow")}}, says("a")}, []step{says("b")}, 2, 0, "a", 30 * time.Second, 30*time.Second + 1},
		{"longer retry-after goes on", []step{{err: &llm.Error{Kind: llm.RateLimited, RetryAfter: 31 * time.Second, Err: errors.New("slow")}}, says("a")}, []step{says("b")}, 1, 1, "b", 0, 1},
		{"broken stream", []step{{text: []string{"half"}, err: errors.New("EOF")}, says("a")}, []step{says("b")}, 2, 0, "a", 500 * time.Millisecond, 1001 * time.Millisecond},
		{"hangs: once", []step{{hang: true}}, []step{says("b")}, 1, 1, "b", time.Minute, time.Minute + 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := &scripted{name: "one", steps: tc.first}, &scripted{name: "two", steps: tc.second}
				begin := time.Now()
				reply, err := chain(t, nil, one, two).Ask(t.Context(), hello())
				if err != nil {
					t.Fatal(err)
				}
				if reply.Message.Text != tc.want || one.calls() != tc.asked1 || two.calls() != tc.asked2 {
					t.Errorf("text %q, asked %d and %d; want %q, %d and %d", reply.Message.Text, one.calls(), two.calls(), tc.want, tc.asked1, tc.asked2)
				}
				// The bubble's clock moves only while everybody sleeps: exact.
				if took := time.Since(begin); took < tc.least || took >= tc.below {
					t.Errorf("waited %s, want from %s to below %s", took, tc.least, tc.below)
				}
			})
		})
	}
}

func TestTooLongIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		small, large := &scripted{name: "small", steps: []step{says("x")}}, &scripted{name: "large", steps: []step{{err: fail(llm.TooLong)}}}
		q := hello()
		q.Prefer = "large"
		_, err := chain(t, nil, small, large).Ask(t.Context(), q)
		if llm.KindOf(err) != llm.TooLong {
			t.Errorf("err = %v, want TooLong", err)
		}
		if small.calls() != 0 {
			t.Errorf("a model with a smaller context was asked")
		}
	})
}

func TestOnTextStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &scripted{name: "one", steps: []step{{text: []string{"你", "好"}, err: fail(llm.Temporary)}, {text: []string{"Hel", "lo"}}}}
		var seen []string
		q := hello()
		q.OnText = func(s string) { seen = append(seen, s) }
		if _, err := chain(t, nil, p).Ask(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"你", "你好", "", "Hel", "Hello"}, seen); d != "" {
			t.Error(d)
		}
	})
}

func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &scripted{name: "one", steps: []step{{err: fail(llm.Unauthorized)}}}
		two := &scripted{name: "two", steps: []step{{err: &llm.Error{Kind: llm.Temporary, Status: 503, Err: errors.New("secret detail")}}}}
		_, err := chain(t, nil, one, two).Ask(t.Context(), hello())
		var un *model.Unavailable
		if !errors.As(err, &un) || len(un.Causes) != 2 || un.Causes[0].Tries != 1 || un.Causes[1].Tries != 3 {
			t.Fatalf("err = %#v, want Unavailable after 1 and 3 tries", err)
		}
		if llm.KindOf(err) != llm.Unauthorized {
			t.Errorf("the causes cannot be reached with errors.As")
		}
		for lang, wants := range map[string][]string{"en": {"one: the key was refused", "two: its server has trouble (HTTP 503)"}, "zh": {"one: 密钥被拒绝", "HTTP 503", "抱歉"}} {
			notice := un.Notice(lang)
			for _, want := range wants {
				if !strings.Contains(notice, want) {
					t.Errorf("notice %s misses %q:\n%s", lang, want, notice)
				}
			}
			if strings.Contains(notice, "secret") {
				t.Errorf("notice tells what the server said:\n%s", notice)
			}
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &scripted{name: "bad", steps: []step{{err: fail(llm.Unauthorized)}, {err: fail(llm.Unauthorized)}, says("back")}}
		good := &scripted{name: "good", steps: []step{says("good")}}
		c := chain(t, nil, bad, good)
		ask := func(want string, badCalls int) {
			t.Helper()
			reply, err := c.Ask(t.Context(), hello())
			if err != nil || reply.Message.Text != want || bad.calls() != badCalls {
				t.Fatalf("%q, %v, bad asked %d times; want %q and %d", reply.Message.Text, err, bad.calls(), want, badCalls)
			}
		}
		pause := func(d time.Duration) {
			t.Helper()
			<-time.After(d) // the bubble's clock
		}
		ask("good", 1)
		if info := c.Models()[0]; info.Cooling.IsZero() || info.Trouble != llm.Unauthorized {
			t.Errorf("Models does not show the cooling: %+v", info)
		}
		ask("good", 1) // open
		pause(30*time.Second - 1)
		ask("good", 1)
		pause(1)
		ask("good", 2) // the probe fails
		pause(60*time.Second - 1)
		ask("good", 2) // twice as long
		pause(1)
		ask("back", 3)
		ask("back", 4) // closed
		if info := c.Models()[0]; !info.Cooling.IsZero() {
			t.Errorf("still cooling: %+v", info)
		}
	})
}

func TestBreakerOpensAfterThreeQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := &scripted{name: "bad", steps: []step{{err: fail(llm.Temporary)}}}, &scripted{name: "good", steps: []step{says("good")}}
		c := chain(t, nil, bad, good)
		for range 5 {
			if _, err := c.Ask(t.Context(), hello()); err != nil {
				t.Fatal(err)
			}
		}
		if bad.calls() != 9 {
			t.Errorf("bad model asked %d times, want 3 questions of 3 tries", bad.calls())
		}
	})
}

func TestCoolingModelIsTheLastResort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		only := &scripted{name: "only", steps: []step{{err: fail(llm.Unauthorized)}, {err: fail(llm.Temporary)}, says("repaired")}}
		c := chain(t, nil, only)
		for i := range 2 {
			if _, err := c.Ask(t.Context(), hello()); err == nil {
				t.Fatalf("question %d was answered", i)
			}
		}
		if only.calls() != 2 {
			t.Errorf("asked %d times, want one try each", only.calls())
		}
		reply, err := c.Ask(t.Context(), hello())
		if err != nil || reply.Message.Text != "repaired" {
			t.Errorf("%q, %v", reply.Message.Text, err)
		}
	})
}

func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &scripted{name: "bad", steps: []step{{err: fail(llm.Unauthorized)}, {hang: true}}}
		good := &scripted{name: "good", steps: []step{says("good")}}
		c := chain(t, nil, bad, good)
		var wg sync.WaitGroup
		ask := func() {
			if _, err := c.Ask(t.Context(), hello()); err != nil {
				t.Error(err)
			}
		}
		ask()
		<-time.After(time.Minute)
		for range 8 {
			wg.Go(ask)
		}
		synctest.Wait()
		if bad.calls() != 2 {
			t.Errorf("%d questions probe, want one", bad.calls()-1)
		}
		wg.Wait()
	})
}

func TestCancelEndsEverything(t *testing.T) {
	stop := errors.New("stopped by the person")
	for name, st := range map[string]step{"while asked": {text: []string{"x"}, hang: true}, "in back-off": {err: fail(llm.Temporary)}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, other := &scripted{name: "p", steps: []step{st}}, &scripted{name: "other", steps: []step{says("no")}}
				c := chain(t, nil, p, other)
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan error)
				go func() { _, err := c.Ask(ctx, hello()); done <- err }()
				synctest.Wait()
				cancel(stop)
				if err := <-done; !errors.Is(err, stop) {
					t.Errorf("err = %v, want ctx's cause", err)
				}
				if other.calls() != 0 || !c.Models()[0].Cooling.IsZero() {
					t.Errorf("a stopped question went on or counted as a failure")
				}
			})
		})
	}
}

func TestNewRefuses(t *testing.T) {
	p := &scripted{name: "a", steps: []step{says("")}}
	for name, models := range map[string][]model.Model{"none": nil, "no provider": {{}}, "equal names": {{Provider: p}, {Provider: p}}} {
		if _, err := model.New(models, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestPreferAndLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := &scripted{name: "one", steps: []step{says("1")}}, &scripted{name: "two", steps: []step{says("2")}}
		c := chain(t, nil, one, two)
		for prefer, want := range map[string]string{"": "1", "two": "2", "gone": "1"} {
			q := hello()
			q.Prefer = prefer
			reply, err := c.Ask(t.Context(), q)
			if err != nil || reply.Message.Text != want {
				t.Errorf("prefer %q: %q, %v", prefer, reply.Message.Text, err)
			}
		}
		if d := cmp.Diff(model.Limits{Context: 2000, MaxOutput: 100}, c.Limits("two")); d != "" {
			t.Error(d)
		}
		if got := one.asked[0].MaxTokens; got != 100 {
			t.Errorf("MaxTokens = %d, want the model's own 100", got)
		}
	})
}

// TestUpdate: a chain asks the models that it was given last, a Fixed of it
// those that there were then; what New refuses changes nothing.
func TestUpdate(t *testing.T) {
	one, two := &scripted{name: "one", steps: []step{says("1")}}, &scripted{name: "two", steps: []step{says("2")}}
	c := chain(t, nil, one)
	fixed := c.Fixed()
	if err := c.Update([]model.Model{{Provider: two, Context: 7}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(nil); err == nil {
		t.Error("no models are taken")
	}
	for c, want := range map[*model.Chain]string{c: "2", fixed: "1", c.Fixed(): "2"} {
		if reply, err := c.Ask(t.Context(), hello()); err != nil || reply.Message.Text != want {
			t.Errorf("%q, %v, want %s", reply.Message.Text, err, want)
		}
	}
	if c.Limits("").Context != 7 || fixed.Limits("").Context != 1000 || c.Models()[0].Name != "two" {
		t.Errorf("%+v %+v", c.Limits(""), fixed.Limits(""))
	}
}

func TestManyAtOnce(t *testing.T) {
	p := &scripted{name: "p", steps: []step{says("ok")}}
	c := chain(t, nil, p)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			q := hello()
			q.Payer = fmt.Sprint("web:", i)
			if _, err := c.Ask(t.Context(), q); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if p.calls() != 64 {
		t.Errorf("asked %d times", p.calls())
	}
}
