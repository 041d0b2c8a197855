package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/backup"
)

// dash as a file name means the standard output of a backup and the standard
// input of a restore.
const dash = "-"

func (p *program) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy all state into one file, also while the bot runs",
		Long: "Copy all state into one file: conversations, messages on their way, jobs, memory, stored\n" +
			"files, the workspace and the audit log. The bot may run. FILE - is the standard output.\n\n" +
			"The configuration and .env are not in it: keep them apart. The file holds what people wrote.",
		Args: wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.started = true
			return p.backup(cmd.Context(), args[0])
		},
	}
}

func (p *program) restoreCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Fill the data folder and the workspace from a backup",
		Long: "Fill the data folder, the workspace and, with bus.url, the store from a backup. No bot may run.\n" +
			"The file is checked before anything is touched. What is there already is replaced with --force\n" +
			"only, and kept beside. FILE - is the standard input, which is kept in the data folder meanwhile.",
		Args: wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.started = true
			return p.restore(cmd.Context(), args[0], force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace what is there, and keep it beside")
	return cmd
}

func (p *program) backup(ctx context.Context, file string) error {
	cfg, _, err := p.load()
	if err != nil {
		return err
	}
	if file == dash {
		return p.writeBackup(ctx, cfg, p.out)
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: choose another name", file)
	}
	err = app.WriteFile(file, func(w io.Writer) error { return p.writeBackup(ctx, cfg, w) })
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() // it was read only
	c, err := app.VerifyBackup(f)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s: %s, checked\n", file, describe(c))
	fmt.Fprint(p.out, c.Notes)
	return nil
}

// writeBackup writes a backup made by the running bot, else by this program.
func (p *program) writeBackup(ctx context.Context, cfg *config.Config, w io.Writer) error {
	bot, runs, err := p.running(ctx, cfg)
	if err != nil {
		return err
	}
	if !runs {
		return app.Backup(ctx, cfg, buildVersion(), w)
	}
	body, err := p.post(ctx, bot, app.BackupPath, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("the running bot broke the backup off (its log says why): %w", err)
	}
	return nil
}

func (p *program) restore(ctx context.Context, file string, force bool) error {
	cfg, _, err := p.load()
	if err != nil {
		return err
	}
	if bot, runs, _ := p.running(ctx, cfg); runs { // without its token it is in the way, too
		return fmt.Errorf("the bot is running at %s: stop it first", bot.URL)
	}
	from, err := p.openBackup(cfg, file)
	if err != nil {
		return err
	}
	defer from.Close() // it was read only
	done, err := app.Restore(ctx, cfg, from, buildVersion(), force)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "restored %s\n", describe(done.Contents))
	for _, kept := range []string{done.Aside, done.Saved} {
		if kept != "" {
			fmt.Fprintf(p.out, "what was there before is kept in %s\n", kept)
		}
	}
	fmt.Fprint(p.out, done.Notes)
	return nil
}

// openBackup opens what a restore reads.
func (p *program) openBackup(cfg *config.Config, file string) (interface {
	app.BackupFile
	io.Closer
}, error,
) {
	if file != dash {
		return os.Open(file)
	}
	if term.IsTerminal(int(p.in.Fd())) {
		return nil, fmt.Errorf("%w: the standard input is a terminal: bot restore - < FILE", errUsage)
	}
	return app.SpoolBackup(cfg, "standard input", p.in)
}

func describe(c backup.Contents) string {
	var messages uint64
	for _, s := range c.Streams {
		messages += s.Messages
	}
	return fmt.Sprintf("state of %s by bot %s: %d entries in %d streams, %d files, %s",
		c.Created.Local().Format(time.DateTime), c.Program, messages, len(c.Streams), c.Files, size(c.Bytes))
}

func size(n int64) string {
	for _, unit := range []string{"bytes", "KB", "MB"} {
		if n < 10_000 {
			return fmt.Sprint(n, " ", unit)
		}
		n /= 1000
	}
	return fmt.Sprint(n, " GB")
}
