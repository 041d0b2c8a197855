package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/console"
)

// operate carries out an operation: the running bot does it, or this program
// when none runs. in and out are JSON values; out nil = not wanted.
func (p *program) operate(ctx context.Context, name string, in, out any) error {
	cfg, _, err := p.load()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	bot, runs, err := p.running(ctx, cfg)
	if err != nil {
		return err
	}
	var answer []byte
	if runs {
		answer, err = p.ask(ctx, bot, app.OpPath+name, raw)
	} else {
		answer, err = app.Operate(ctx, cfg, name, raw)
	}
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("answer of the running bot: %w", err)
	}
	return nil
}

// running finds the bot that works with the data folder, which says itself
// where it listens, else one that listens where the configuration says: in a
// container, for example.
func (p *program) running(ctx context.Context, cfg *config.Config) (console.Running, bool, error) {
	if bot, ok := console.FindRunning(cfg.DataDir); ok {
		return bot, true, alive(ctx, bot)
	}
	bot := console.At(cfg.DataDir, cfg.Web.Listen)
	if !p.answers(ctx, bot) {
		return bot, false, nil
	}
	var err error
	bot.Token, err = console.LoadToken(cfg.DataDir, cfg.Web.Token)
	return bot, err == nil, err
}

// alive fails when the bot answers not even the shortest question: one that
// hangs would keep a command waiting for ever. What is asked after that may
// take its time.
func alive(ctx context.Context, bot console.Running) error {
	ctx, cancel := context.WithTimeout(ctx, aliveTimeout)
	defer cancel()
	client := bot.Client()
	defer client.CloseIdleConnections()
	resp, err := get(ctx, client, bot.URL+"/healthz")
	if err != nil {
		return fmt.Errorf("the bot at %s runs but does not answer: %w", bot.URL, asked(err))
	}
	return resp.Body.Close()
}

// aliveTimeout has room for a bot on a busy machine.
const aliveTimeout = 10 * time.Second

// maxAnswer bounds an answer of the running bot, in bytes.
const maxAnswer = 16 << 20

// ask posts something to the running bot and returns its answer.
func (p *program) ask(ctx context.Context, bot console.Running, path string, in []byte) ([]byte, error) {
	body, err := p.post(ctx, bot, path, in)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	answer, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("ask the running bot: %w", err)
	}
	return answer, nil
}

// post posts something to the running bot; its answer is to be closed.
func (p *program) post(ctx context.Context, bot console.Running, path string, in []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, bot.URL+path, bytes.NewReader(in))
	if err != nil {
		return nil, err
	}
	console.SignOperator(req, bot.Token, in)
	req.Header.Set("Content-Type", "application/json")
	resp, err := bot.Client().Do(req) // the bot bounds its work itself; ctx ends with Ctrl-C
	if err != nil {
		return nil, fmt.Errorf("ask the running bot: %w", asked(err))
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refused(resp)
	}
	return resp.Body, nil
}

// asked is what went wrong with a request, without the request.
func asked(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// refused is what the running bot says when it does not do something.
func refused(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	text := strings.TrimSpace(string(body))
	switch {
	case err != nil:
		return fmt.Errorf("ask the running bot: %w", err)
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the bot at %s has another token, or is of another version: use that bot's configuration, or start it anew", resp.Request.URL.Host)
	case resp.StatusCode == http.StatusUnprocessableEntity:
		return errors.New(text)
	}
	return fmt.Errorf("the running bot answers %s: %s", resp.Status, text)
}
