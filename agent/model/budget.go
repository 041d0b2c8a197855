package model

import (
	"fmt"
	"strconv"
	"time"

	"magpie/agent/llm"
)

// Budget is what may be used in one day; a zero field is no limit.
type Budget struct {
	USDPerDay             float64
	TokensPerDay          int
	PerSenderTokensPerDay int
}

// Spend is an amount of use. Money is kept in billionths of a dollar, so that
// sums do not depend on their order.
type Spend struct {
	Calls  int   `json:"calls"`
	Input  int   `json:"in"`
	Output int   `json:"out"`
	Nano   int64 `json:"nano,omitempty"` // USD × 10⁹
}

// Tokens is prompt and reply together.
func (s Spend) Tokens() int { return s.Input + s.Output }

// USD is the price of it.
func (s Spend) USD() float64 { return float64(s.Nano) / nanos }

const nanos = 1e9

func (s Spend) add(o Spend) Spend {
	return Spend{s.Calls + o.Calls, s.Input + o.Input, s.Output + o.Output, s.Nano + o.Nano}
}

// spend prices usage. Cached input counts in full: vendors' discounts differ,
// and a budget should rather stop too early.
func (p Price) spend(u llm.Usage) Spend {
	// USD per million tokens is the same number of nano-USD per thousandth.
	nano := (float64(u.Input)*p.Input + float64(u.Output)*p.Output) * nanos / 1e6
	return Spend{Input: u.Input, Output: u.Output, Nano: int64(nano + 0.5)}
}

// OverBudget says that a question was not asked because the answer could have
// passed a budget.
type OverBudget struct {
	// Budget is the key below security.budget: usd_per_day, tokens_per_day or
	// per_sender_tokens_per_day.
	Budget string
	// Max, Used (with what other questions hold just now) and Need are tokens,
	// or billionths of a dollar for usd_per_day.
	Max, Used, Need int64
	Resets          time.Time // the next midnight, in the configured zone
}

// Error is for the log.
func (e *OverBudget) Error() string {
	return fmt.Sprintf("budget %s: %d used of %d, %d more needed", e.Budget, e.Used, e.Max, e.Need)
}

// Notice is for the chat.
func (e *OverBudget) Notice(lang string) string {
	left, limit, need := e.amount(max(0, e.Max-e.Used)), e.amount(e.Max), e.amount(e.Need)
	own := e.Budget == perSender
	resets := e.Resets.Format("2006-01-02 15:04 MST")
	if lang == "zh" {
		whose := "机器人"
		if own {
			whose = "您"
		}
		return fmt.Sprintf("为了不超出预算，我没有询问模型：这次回答最多需要 %s，而%s今天 %s 的额度只剩 %s。额度将在 %s 恢复；/usage 查看用量。",
			need, whose, limit, left, resets)
	}
	whose := "the bot's"
	if own {
		whose = "your"
	}
	return fmt.Sprintf("I did not ask the model, to stay within the budget: this answer may need up to %s, and of %s %s for today only %s are left. The budget starts again at %s; /usage shows what was used.",
		need, whose, limit, left, resets)
}

func (e *OverBudget) amount(n int64) string {
	if e.Budget == usdPerDay {
		return "$" + strconv.FormatFloat(float64(n)/nanos, 'f', 4, 64)
	}
	return strconv.FormatInt(n, 10) + " tokens"
}

const (
	usdPerDay    = "usd_per_day"
	tokensPerDay = "tokens_per_day"
	perSender    = "per_sender_tokens_per_day"
)
