package app

import (
	"context"
	"fmt"
	"net/http"

	"magpie/agent/llm"
	"magpie/config"
)

// probeTokens is how much a model is let write when it is tried, one after the
// other: a token proves everything, but some servers refuse so few, and some
// fail while the model thinks, unless it may write what it likes (0).
func probeTokens() []int { return []int{1, 16, 0} }

// examineModel has a model write one token.
func examineModel(ctx context.Context, m config.Model, client *http.Client) (string, error) {
	if m.Provider == config.Offline {
		return "the offline assistant answers; it needs no server", nil
	}
	p, err := provider(m, client)
	if err != nil {
		return "", &advised{err, "correct llm.models"}
	}
	ask := func(tokens int) error {
		_, err := llm.Collect(p.Stream(ctx, llm.Request{
			Messages: []llm.Message{{Role: llm.User, Text: "Say: ok"}}, MaxTokens: tokens, Session: "doctor",
		}), nil)
		return err
	}
	for _, tokens := range probeTokens() {
		if err = ask(tokens); err == nil {
			break
		}
		if kind := llm.KindOf(err); kind != llm.Rejected && kind != llm.TooLong {
			break
		}
	}
	if err != nil {
		return "", &remedied{err, modelTodo(m, llm.KindOf(err))}
	}
	return fmt.Sprintf("%s at %s answers", m.Model, m.BaseURL), nil
}
