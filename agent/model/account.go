package model

import (
	"encoding/json"
	"fmt"
	"time"
)

// account is one entry of the table: what was used, and what questions that
// are being asked may use yet. A hold whose process died ends by itself.
type account struct {
	Spend
	Holds map[string]held `json:"holds,omitempty"`
}

type held struct {
	Tokens int   `json:"tokens"`
	Nano   int64 `json:"nano,omitempty"`
	Until  int64 `json:"until"` // Unix seconds
}

func parseAccount(key string, value []byte) (account, error) {
	var a account
	if value == nil {
		return a, nil
	}
	if err := json.Unmarshal(value, &a); err != nil {
		return account{}, fmt.Errorf("decode account %q: %w", key, err)
	}
	return a, nil
}

// taken is what counts against a budget: used and held.
func (a *account) taken(now time.Time) (tokens, nano int64) {
	tokens, nano = int64(a.Tokens()), a.Nano
	for id, h := range a.Holds {
		if h.Until <= now.Unix() {
			delete(a.Holds, id)
			continue
		}
		tokens += int64(h.Tokens)
		nano += h.Nano
	}
	return tokens, nano
}

// limit is a budget that an account must keep; zero fields are no limit.
type limit struct {
	key    string // of the account
	tokens int64
	nano   int64
	name   string // of the budget on tokens
}

// reserve adds a hold, or says which budget it would pass.
func (a *account) reserve(lim limit, id string, h held, now time.Time) *OverBudget {
	tokens, nano := a.taken(now)
	if more := int64(h.Tokens); lim.tokens > 0 && tokens+more > lim.tokens {
		return &OverBudget{Budget: lim.name, Max: lim.tokens, Used: tokens, Need: more}
	}
	// A free model cannot pass a budget of money that is used up.
	if lim.nano > 0 && h.Nano > 0 && nano+h.Nano > lim.nano {
		return &OverBudget{Budget: usdPerDay, Max: lim.nano, Used: nano, Need: h.Nano}
	}
	if a.Holds == nil {
		a.Holds = map[string]held{}
	}
	a.Holds[id] = h
	return nil
}
