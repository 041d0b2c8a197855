package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"magpie/chat"
	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/console"
	"magpie/tools"
)

func (p *program) auditCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Check the log of tool calls"}
	cmd.AddCommand(&cobra.Command{
		Use:   "verify",
		Short: "Find records that were changed, removed or cut off",
		Args:  cobra.NoArgs,
		RunE:  p.start(func(cmd *cobra.Command) error { return p.verifyAudit(cmd.Context()) }),
	})
	return cmd
}

// verifyAudit asks the running bot, or looks itself when none runs.
func (p *program) verifyAudit(ctx context.Context) error {
	cfg, _, err := p.load()
	if err != nil {
		return err
	}
	var report tools.AuditReport
	at := "http://" + reachable(cfg.Web.Listen)
	if p.answers(ctx, at) {
		report, err = p.askAudit(ctx, cfg, at+app.AuditPath)
	} else {
		report, err = app.VerifyAudit(ctx, cfg)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%d records in %d files\n", report.Records, report.Files)
	for _, problem := range report.Problems {
		fmt.Fprintln(p.out, problem)
	}
	if n := len(report.Problems); n > 0 {
		return fmt.Errorf("the audit log is not what was written: problems found: %d", n)
	}
	fmt.Fprintln(p.out, "the log is whole")
	return nil
}

func (p *program) askAudit(ctx context.Context, cfg *config.Config, url string) (report tools.AuditReport, err error) {
	token, err := console.LoadToken(cfg.DataDir, cfg.Web.Token)
	if err != nil {
		return report, err
	}
	body, err := p.ask(ctx, url, token)
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return report, fmt.Errorf("answer of the running bot: %w", err)
	}
	return report, nil
}

// maxAnswer bounds an answer of the running bot, in bytes.
const maxAnswer = 4 << 20

// ask gets something from the running bot.
func (p *program) ask(ctx context.Context, url string, token chat.Secret) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+string(token))
	client := *p.http
	client.Timeout = 0 // the bot bounds its work itself; ctx ends with Ctrl-C
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the running bot: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the running bot: %w", err)
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, fmt.Errorf("the bot at %s has another token: use that bot's configuration", req.URL.Host)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the running bot answers %s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}
