package model_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/internal/kv"
)

var shanghai = time.FixedZone("UTC+08:00", 8*3600)

func report(t *testing.T, l *model.Ledger) model.Report {
	t.Helper()
	r, err := l.Report(t.Context(), "s", "telegram:1")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// want is what one question of hello() needs at most: the estimate of its
// prompt and the model's 100 tokens of output.
func need() int { return model.Estimate(hello().Request) + 100 }

func TestBudgetAtLimitAndOneBelow(t *testing.T) {
	for name, budget := range map[string]func(n int) model.Budget{
		"tokens_per_day":            func(n int) model.Budget { return model.Budget{TokensPerDay: n} },
		"per_sender_tokens_per_day": func(n int) model.Budget { return model.Budget{PerSenderTokensPerDay: n} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, short := range []int{0, 1} {
				ledger := model.NewLedger(new(kv.Memory), &model.LedgerOptions{Budget: budget(need() - short), Zone: shanghai})
				p := &scripted{name: "p", steps: []step{says("ok")}}
				_, err := chain(t, ledger, p).Ask(t.Context(), hello())
				var over *model.OverBudget
				switch {
				case short == 0 && err != nil:
					t.Errorf("exactly the budget is refused: %v", err)
				case short == 1 && (!errors.As(err, &over) || over.Budget != name || p.calls() != 0):
					t.Errorf("one token over the budget: %v, asked %d times", err, p.calls())
				}
			}
		})
	}
}

func TestBudgetOfMoney(t *testing.T) {
	ask := func(usd float64) (int, error) {
		p := &scripted{name: "p", steps: []step{says("ok")}}
		ledger := model.NewLedger(new(kv.Memory), &model.LedgerOptions{Budget: model.Budget{USDPerDay: usd}})
		c, err := model.New([]model.Model{{Provider: p, MaxOutput: 100, Price: model.Price{Input: 1, Output: 2}}}, &model.Options{Ledger: ledger})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ask(t.Context(), hello())
		return p.calls(), err
	}
	exact := float64(model.Estimate(hello().Request)+2*100) / 1e6
	if calls, err := ask(exact); err != nil || calls != 1 {
		t.Errorf("exactly the budget: %v, asked %d times", err, calls)
	}
	var over *model.OverBudget
	if calls, err := ask(exact - 1e-9); !errors.As(err, &over) || over.Budget != "usd_per_day" || calls != 0 {
		t.Errorf("a billionth too little: %v, asked %d times", err, calls)
	}
}

func TestOverBudgetNotice(t *testing.T) {
	over := &model.OverBudget{Budget: "usd_per_day", Max: 1e9, Used: 99e7, Need: 2e7, Resets: time.Date(2026, 11, 22, 0, 0, 0, 0, shanghai)}
	for lang, want := range map[string]string{"en": "up to $0.0200, and of the bot's $1.0000 for today only $0.0100 are left", "zh": "只剩 $0.0100"} {
		if got := over.Notice(lang); !strings.Contains(got, want) || !strings.Contains(got, "2026-11-22 00:00") {
			t.Errorf("notice %s: %s", lang, got)
		}
	}
}

func TestBudgetStartsAgainAtMidnightOfTheZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble begins at midnight UTC: 08:00 in Shanghai
		ledger := model.NewLedger(new(kv.Memory), &model.LedgerOptions{Budget: model.Budget{TokensPerDay: need()}, Zone: shanghai})
		c := chain(t, ledger, &scripted{name: "p", steps: []step{says("ok")}})
		ask := func() error { _, err := c.Ask(t.Context(), hello()); return err }
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		<-time.After(16*time.Hour - time.Second)
		var over *model.OverBudget
		if err := ask(); !errors.As(err, &over) {
			t.Fatalf("a second before midnight: %v", err)
		}
		if left := time.Until(over.Resets); left != time.Second {
			t.Errorf("resets in %s, want 1s", left)
		}
		<-time.After(time.Second)
		if err := ask(); err != nil {
			t.Errorf("after midnight: %v", err)
		}
	})
}

// TestConcurrentQuestionsNeverPassTheBudget asks through two ledgers on one
// table, as two processes do.
func TestConcurrentQuestionsNeverPassTheBudget(t *testing.T) {
	table, fits := new(kv.Memory), 5
	budget := model.Budget{TokensPerDay: fits * need()}
	spent := llm.Usage{Input: need() - 100, Output: 100} // all that it may
	var chains []*model.Chain
	for range 2 {
		ledger := model.NewLedger(table, &model.LedgerOptions{Budget: budget})
		chains = append(chains, chain(t, ledger, &scripted{name: "p", steps: []step{{text: []string{"ok"}, usage: spent}}}))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	for i := range 40 {
		wg.Go(func() {
			_, err := chains[i%2].Ask(t.Context(), hello())
			var over *model.OverBudget
			if err != nil && !errors.As(err, &over) {
				t.Error(err)
			}
			if err == nil {
				mu.Lock()
				answered++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if answered != fits {
		t.Errorf("%d questions were answered, want exactly %d", answered, fits)
	}
	r := report(t, model.NewLedger(table, nil))
	if got := r.Total.Tokens(); got != budget.TokensPerDay {
		t.Errorf("account says %d tokens, want %d", got, budget.TokensPerDay)
	}
}

// hang is a question that holds its part of the budget until ctx ends.
func TestHoldOfADeadProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := new(kv.Memory)
		opts := &model.LedgerOptions{Budget: model.Budget{TokensPerDay: need()}}
		ctx, kill := context.WithCancel(t.Context())
		dead := &deadTable{Table: table}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c := chain(t, model.NewLedger(dead, opts), &scripted{name: "p", steps: []step{{hang: true}}})
			if _, err := c.Ask(ctx, hello()); err == nil {
				t.Error("a hanging model answered")
			}
		}()
		synctest.Wait()
		dead.set(true) // the process dies: nothing is settled
		kill()
		<-done
		c := chain(t, model.NewLedger(table, opts), &scripted{name: "p", steps: []step{says("ok")}})
		var over *model.OverBudget
		if _, err := c.Ask(t.Context(), hello()); !errors.As(err, &over) {
			t.Fatalf("the hold does not count: %v", err)
		}
		<-time.After(3 * time.Minute)
		if _, err := c.Ask(t.Context(), hello()); err != nil {
			t.Errorf("the hold of a dead process stays: %v", err)
		}
	})
}

// deadTable refuses everything once it is dead.
type deadTable struct {
	kv.Table
	mu   sync.Mutex
	dead bool
}

func (d *deadTable) set(dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = dead
}

func (d *deadTable) Get(ctx context.Context, key string) (kv.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return kv.Entry{}, errors.New("the store is gone")
	}
	return d.Table.Get(ctx, key)
}

func TestWithoutBudgetUseIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := &deadTable{Table: new(kv.Memory)}
		ledger := model.NewLedger(dead, &model.LedgerOptions{Zone: shanghai})
		other := model.NewLedger(dead.Table, &model.LedgerOptions{Zone: shanghai})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- ledger.Run(ctx) }()
		c := chain(t, ledger, &scripted{name: "gpt-4.1", steps: []step{says("ok")}})
		ask := func() {
			t.Helper()
			if _, err := c.Ask(t.Context(), hello()); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		one := model.Spend{Calls: 1, Input: 10, Output: 5}
		want := model.Report{Day: "2000-01-01", Total: one, Session: one, Sender: one, Models: map[string]model.Spend{"gpt-4.1": one}}
		if d := cmp.Diff(want, report(t, ledger)); d != "" {
			t.Error(d)
		}
		if got := report(t, other).Total.Calls; got != 0 {
			t.Errorf("written at once: %d calls", got)
		}
		dead.set(true)
		<-time.After(6 * time.Second) // one flush fails
		dead.set(false)
		<-time.After(6 * time.Second) // the next one writes
		if d := cmp.Diff(want, report(t, other)); d != "" {
			t.Error(d)
		}
		ask()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := report(t, other).Total.Calls; got != 2 {
			t.Errorf("the end lost something: %d calls", got)
		}
	})
}

func TestWhatCounts(t *testing.T) {
	cases := map[string]struct {
		steps []step
		want  func(model.Spend) bool
	}{
		"refused costs nothing":      {[]step{{err: fail(llm.Rejected)}}, func(s model.Spend) bool { return s == model.Spend{} }},
		"broken off is paid":         {[]step{{text: []string{"半句"}, err: fail(llm.Rejected)}}, func(s model.Spend) bool { return s.Output == 2 && s.Input == need()-100 }},
		"no usage reported: guessed": {[]step{{text: []string{"四个汉字"}}}, func(s model.Spend) bool { return s.Output == 4 && s.Input == need()-100 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, budget := range []model.Budget{{}, {TokensPerDay: 1e6}} {
				ledger := model.NewLedger(new(kv.Memory), &model.LedgerOptions{Budget: budget})
				_, _ = chain(t, ledger, &scripted{name: "p", steps: tc.steps}).Ask(t.Context(), hello())
				if got := report(t, ledger).Total; !tc.want(got) {
					t.Errorf("budget %+v: account %+v", budget, got)
				}
			}
		})
	}
}

func TestWhatIsBrokenOffPaysItsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := model.NewLedger(new(kv.Memory), &model.LedgerOptions{Budget: model.Budget{TokensPerDay: 1e6}})
		c := chain(t, ledger, &scripted{name: "p", steps: []step{{hang: true}}})
		if _, err := c.Ask(t.Context(), hello()); err == nil {
			t.Fatal("a hanging model answered")
		}
		if got := report(t, ledger).Total; got.Input != need()-100 || got.Output != 0 || got.Calls != 1 {
			t.Errorf("account %+v", got)
		}
	})
}

func TestUnmeteredModelIsFree(t *testing.T) {
	ledger := model.NewLedger(new(kv.Memory), &model.LedgerOptions{Budget: model.Budget{TokensPerDay: 1}})
	c, err := model.New([]model.Model{{Provider: &scripted{name: "offline", steps: []step{says("ok")}}, Unmetered: true}}, &model.Options{Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), hello()); err != nil {
		t.Error(err)
	}
	if got := report(t, ledger).Total; got != (model.Spend{}) {
		t.Errorf("counted %+v", got)
	}
}

func TestBudgetThatCannotBeReadStops(t *testing.T) {
	dead := &deadTable{Table: new(kv.Memory), dead: true}
	p := &scripted{name: "p", steps: []step{says("ok")}}
	_, err := chain(t, model.NewLedger(dead, &model.LedgerOptions{Budget: model.Budget{TokensPerDay: 1e6}}), p).Ask(t.Context(), hello())
	var un *model.Unavailable
	if err == nil || errors.As(err, &un) || p.calls() != 0 {
		t.Errorf("asked %d times without knowing the budget (%v)", p.calls(), err)
	}
}

func TestCorruptAccountIsNamed(t *testing.T) {
	table := new(kv.Memory)
	ledger := model.NewLedger(table, &model.LedgerOptions{Zone: shanghai, Now: func() time.Time { return time.Unix(0, 0) }})
	if _, err := table.Create(t.Context(), "day.1970-01-01", []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Report(t.Context(), chat.SessionKey("s"), ""); err == nil || !strings.Contains(err.Error(), "day.1970-01-01") {
		t.Errorf("err = %v, want the account's name", err)
	}
}
