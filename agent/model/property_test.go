package model_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/internal/kv"
)

// TestAccountsAreExact asks and writes in any order through three ledgers on
// one table, with and without a budget, and compares the sums.
func TestAccountsAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { sums(t, rt) })
}

func sums(t *testing.T, rt *rapid.T) {
	noon := func() time.Time { return time.Unix(1e9, 0) }
	table := new(kv.Memory)
	var want, mine model.Spend
	ledgers := make([]*model.Ledger, 3)
	for i := range ledgers {
		budget := model.Budget{}
		if rapid.Bool().Draw(rt, "limited") {
			budget = model.Budget{TokensPerDay: 1 << 30, PerSenderTokensPerDay: 1 << 30, USDPerDay: 1 << 20}
		}
		ledgers[i] = model.NewLedger(table, &model.LedgerOptions{Budget: budget, Now: noon})
	}
	for range rapid.IntRange(1, 12).Draw(rt, "questions") {
		usage := llm.Usage{Input: rapid.IntRange(1, 1<<20).Draw(rt, "input"), Output: rapid.IntRange(0, 1<<20).Draw(rt, "output")}
		ledger := rapid.SampledFrom(ledgers).Draw(rt, "process")
		p := &scripted{name: "p", steps: []step{{text: []string{"x"}, usage: usage}}}
		c, err := model.New([]model.Model{{Provider: p, Price: model.Price{Input: 0.15, Output: 0.6}}}, &model.Options{Ledger: ledger})
		if err != nil {
			rt.Fatal(err)
		}
		q := hello()
		q.Payer = rapid.SampledFrom([]string{"telegram:1", "web:某人", ""}).Draw(rt, "payer")
		if _, err := c.Ask(t.Context(), q); err != nil {
			rt.Fatal(err)
		}
		spent := model.Spend{Calls: 1, Input: usage.Input, Output: usage.Output, Nano: int64(usage.Input)*150 + int64(usage.Output)*600}
		want = plus(want, spent)
		if q.Payer == "telegram:1" {
			mine = plus(mine, spent)
		}
		if rapid.Bool().Draw(rt, "flush") {
			flush(t, rt, ledger)
		}
	}
	for _, l := range ledgers {
		flush(t, rt, l)
	}
	r := report(t, ledgers[0])
	if r.Total != want || r.Models["p"] != want || r.Session != want || r.Sender != mine {
		rt.Errorf("report %+v, want %+v in all and %+v of the sender", r, want, mine)
	}
}

func plus(a, b model.Spend) model.Spend {
	return model.Spend{Calls: a.Calls + b.Calls, Input: a.Input + b.Input, Output: a.Output + b.Output, Nano: a.Nano + b.Nano}
}

func flush(t *testing.T, rt *rapid.T, l *model.Ledger) {
	if err := l.Flush(t.Context()); err != nil {
		rt.Error(err)
	}
}
