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
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/console"
	"magpie/internal/termchat"
)

func (p *program) chatCommand() *cobra.Command {
	var conversation, text string
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the running bot in this terminal, or start one for it",
		Long: "Talk to the running bot in this terminal; when none runs, one is started for the conversation.\n" +
			"A line that ends in \\ goes on in the next, a paste is one message, Ctrl-C clears what is typed, then\n" +
			"stops the answer, then leaves; /quit leaves, /help lists what the bot understands.\n" +
			"In a pipe, and with -m, it answers what it gets and ends; when a tool asks for an approval, the next\n" +
			"line is the answer (a number, /approve or /deny), else it is denied.",
		Args: noArgs,
		RunE: p.start(func(cmd *cobra.Command) error {
			o := termchat.Options{In: os.Stdin, Chat: conversation}
			if cmd.Flags().Changed("message") {
				if strings.TrimSpace(text) == "" {
					return fmt.Errorf("%w: -m wants a text", errUsage)
				}
				o.In = termchat.Message(text)
			}
			return p.chat(cmd.Context(), o)
		}),
	}
	cmd.Flags().StringVarP(&text, "message", "m", "", "say this, print the answer and end")
	cmd.Flags().StringVar(&conversation, "chat", "terminal", "name of the conversation")
	return cmd
}

// chat talks to the bot that listens where the configuration says, else it
// starts one that lives as long as the conversation.
func (p *program) chat(ctx context.Context, o termchat.Options) error {
	cfg, _, err := p.load()
	if err != nil {
		return err
	}
	if !hasPage(cfg) {
		return fmt.Errorf("%w: bot chat speaks through the web channel, which is switched off: remove enabled: false from channels.web", errUsage)
	}
	signals := []os.Signal{syscall.SIGTERM}
	if file, ok := o.In.(*os.File); ok && term.IsTerminal(int(file.Fd())) { // it has to be given back
		signals = append(signals, os.Interrupt, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	defer stop()
	bot, runs, err := p.running(ctx, cfg)
	switch {
	case err != nil:
		return err
	case runs:
		return p.talk(ctx, cfg, bot, o)
	}
	return p.chatAlone(ctx, cfg, o)
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
func (p *program) answers(ctx context.Context, bot console.Running) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	resp, err := get(ctx, bot.Client(), bot.URL+"/healthz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// get asks a bot for something that needs no token.
func get(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// chatAlone runs a bot beside the conversation.
func (p *program) chatAlone(ctx context.Context, cfg *config.Config, o termchat.Options) error {
	level := slog.LevelError
	log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: level}))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan app.Info, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- p.run(ctx, cfg, app.Options{Version: buildVersion(), Log: log, Ready: func(i app.Info) { ready <- i }})
	}()
	bot := console.Running{}
	select {
	case err := <-ended:
		return err
	case info := <-ready:
		bot = info.Bot
		if info.Unconfined != "" {
			fmt.Fprintln(p.err, "Sandbox of commands: "+info.Unconfined)
		}
	}
	if cfg.LLM.Models[0].Provider == config.Offline {
		fmt.Fprintln(p.err, "No model is configured, so the offline assistant answers. To use one: OPENAI_API_KEY=sk-... "+typed()+" chat")
	}
	err := p.talk(ctx, cfg, bot, o)
	cancel()
	return errors.Join(err, <-ended)
}

// talk speaks to a bot.
func (p *program) talk(ctx context.Context, cfg *config.Config, bot console.Running, o termchat.Options) error {
	client := bot.Client()
	defer client.CloseIdleConnections()
	o.BaseURL, o.Token, o.HTTP, o.Out, o.History = bot.URL, bot.Token, client, p.out, filepath.Join(cfg.DataDir, "chat_history")
	o.Err = p.err
	err := termchat.Run(ctx, o)
	if errors.Is(err, termchat.ErrUnauthorized) {
		return fmt.Errorf("the bot at %s has another token: run bot chat with that bot's configuration, or set web.token: %w", bot.URL, err)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
