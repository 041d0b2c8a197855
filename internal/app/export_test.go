package app

import (
	"context"
	"log/slog"
	"time"

	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/cron"
	"magpie/tools"
)

// WithClock gives the jobs of a program another clock.
func (o Options) WithClock(c cron.Clock) Options {
	o.clock = c
	return o
}

// WithPatience gives the dispatchers of a program another patience.
func (o Options) WithPatience(d time.Duration) Options {
	o.patience = d
	return o
}

// OpenNewer opens the store as a program would that knows further steps.
func OpenNewer(ctx context.Context, cfg *config.Config, steps []bus.Migration) (*bus.Bus, error) {
	opts := busOptions(cfg, slog.New(slog.DiscardHandler))
	opts.Upgrade = bus.Upgrade{Steps: steps, Before: beforeMigration(cfg, "newer")}
	return bus.Open(ctx, opts)
}

// Borrow is what root's commands do about the folders of the bot's user.
func Borrow(dataDir string) (giveBack func() error, err error) {
	cfg := &config.Config{}
	cfg.DataDir, cfg.Workspace = dataDir, dataDir+"/workspace"
	return borrow(cfg)
}

// Largest is what send_media knows of the channels.
func Largest(cfg *config.Config) func(channel string, kind chat.Kind) (int64, bool) {
	return largest(cfg)
}

// Discreet is the log of a program with that secret.
func Discreet(h slog.Handler, secret chat.Secret) slog.Handler {
	return &discreet{h, tools.NewRedactor([]chat.Secret{secret})}
}
