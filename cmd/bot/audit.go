package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"magpie/internal/app"
	"magpie/tools"
)

func (p *program) auditCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Check and read the log of tool calls"}
	var calls int
	tail := &cobra.Command{
		Use: "tail", Short: "Show the latest calls, one a line", Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if calls < 1 || calls > app.MaxAuditTail {
				return fmt.Errorf("-n %d: want 1 to %d", calls, app.MaxAuditTail)
			}
			return nil
		},
		RunE: p.start(func(cmd *cobra.Command) error { return p.tailAudit(cmd.Context(), calls) }),
	}
	tail.Flags().IntVarP(&calls, "calls", "n", 20, "how many calls")
	cmd.AddCommand(tail, &cobra.Command{
		Use:   "verify",
		Short: "Find records that were changed, removed or cut off",
		Args:  noArgs,
		RunE:  p.start(func(cmd *cobra.Command) error { return p.verifyAudit(cmd.Context()) }),
	})
	return cmd
}

func (p *program) tailAudit(ctx context.Context, calls int) error {
	var tail tools.AuditTail
	if err := p.operate(ctx, "audit.tail", app.AuditTailInput{Calls: calls}, &tail); err != nil {
		return err
	}
	if len(tail.Records) == 0 {
		fmt.Fprintln(p.out, "no calls are logged")
	}
	for _, r := range tail.Records {
		fmt.Fprintln(p.out, auditLine(r))
	}
	if tail.Damaged > 0 {
		fmt.Fprintf(p.out, "%d lines are not what was written and are left out; bot audit verify says more\n", tail.Damaged)
	}
	return nil
}

// auditRunes is how much of a call's arguments, and of its error, a line
// shows; the whole stands in the log.
const auditRunes = 160

// auditLine shows when, how it ended, how long it took, which tool, for whom,
// and with what.
func auditLine(r tools.AuditRecord) string {
	line := fmt.Sprintf("%s  %-9s %8.1f ms  %s  %s/%s  %s", r.Timestamp.Local().Format(time.DateTime),
		r.Status, r.DurationMS, r.Tool, r.Channel, r.Sender, shorten(string(r.Arguments)))
	if r.Event == tools.AuditEnd && r.Status != "ok" {
		line += "  " + shorten(r.Result)
	}
	return plain(line)
}

func shorten(s string) string {
	if runes := []rune(s); len(runes) > auditRunes {
		return string(runes[:auditRunes]) + "…"
	}
	return s
}

func (p *program) verifyAudit(ctx context.Context) error {
	var report tools.AuditReport
	if err := p.operate(ctx, "audit.verify", nil, &report); err != nil {
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
