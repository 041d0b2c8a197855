package anthropic_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"magpie/agent/llm"
	"magpie/agent/llm/anthropic"
	"magpie/agent/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns an HTTP client whose connections end with the test.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestConformance(t *testing.T) {
	llmtest.Run(t, func(t *testing.T, to llmtest.Target) llm.Provider {
		p, err := anthropic.New(anthropic.Config{
			Name: "main", BaseURL: to.Server.URL(), APIKey: llmtest.Key, Model: "fake",
			Timeout: to.Timeout, Idle: to.Idle, HTTP: client(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
