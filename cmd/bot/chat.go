package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"magpie/chat"
	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/console"
	"magpie/internal/termchat"
)

func (p *program) chatCommand() *cobra.Command {
	var conversation string
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the running bot in this terminal, or start one for it",
		Args:  cobra.NoArgs,
		RunE:  p.start(func(cmd *cobra.Command) error { return p.chat(cmd.Context(), conversation) }),
	}
	cmd.Flags().StringVar(&conversation, "chat", "terminal", "name of the conversation")
	return cmd
}

// chat talks to the bot that listens where the configuration says, else it
// starts one that lives as long as the conversation.
func (p *program) chat(ctx context.Context, conversation string) error {
	cfg, _, err := p.load()
	if err != nil {
		return err
	}
	if !hasPage(cfg) {
		return fmt.Errorf("%w: bot chat speaks through the web channel, which is switched off: remove enabled: false from channels.web", errUsage)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	token, err := console.LoadToken(cfg.DataDir, cfg.Web.Token)
	if err != nil {
		return err
	}
	at := "http://" + reachable(cfg.Web.Listen)
	if p.answers(ctx, at) {
		return p.talk(ctx, cfg, talkTo{at, token, conversation})
	}
	return p.chatAlone(ctx, cfg, talkTo{token: token, conversation: conversation})
}

func hasPage(cfg *config.Config) bool {
	for _, ch := range cfg.Channels {
		if ch.Type == "web" && ch.Enabled {
			return true
		}
	}
	return false
}

// answers says whether a bot listens there.
func (p *program) answers(ctx context.Context, at string) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// chatAlone runs a bot beside the conversation.
func (p *program) chatAlone(ctx context.Context, cfg *config.Config, t talkTo) error {
	level := slog.LevelError
	log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: level}))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan app.Info, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- p.run(ctx, cfg, app.Options{Version: buildVersion(), Log: log, Ready: func(i app.Info) { ready <- i }})
	}()
	select {
	case err := <-ended:
		return err
	case info := <-ready:
		t.at = info.URL
	}
	if cfg.LLM.Models[0].Provider == config.Offline {
		fmt.Fprintln(p.err, "No model is configured, so the offline assistant answers. To use one: OPENAI_API_KEY=sk-... "+typed()+" chat")
	}
	err := p.talk(ctx, cfg, t)
	cancel()
	return errors.Join(err, <-ended)
}

// talkTo is whom the terminal speaks to.
type talkTo struct {
	at           string
	token        chat.Secret
	conversation string
}

func (p *program) talk(ctx context.Context, cfg *config.Config, t talkTo) error {
	err := termchat.Run(ctx, termchat.Options{
		BaseURL: t.at, Token: t.token, Out: p.out, In: os.Stdin, Chat: t.conversation,
		History: filepath.Join(cfg.DataDir, "chat_history"),
	})
	if errors.Is(err, termchat.ErrUnauthorized) {
		return fmt.Errorf("the bot at %s has another token: run bot chat with that bot's configuration, or set web.token: %w", t.at, err)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
