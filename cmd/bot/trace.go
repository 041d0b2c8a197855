package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"magpie/internal/app"
)

func (p *program) traceCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "trace ID", Short: "Show the way of one message, with times",
		Long: "Show the way of one message, with times: received, stored, turn begun, model, tools, committed, sent, receipt.\n\n" +
			"ID is a trace from the log (trace=…), or the id of a message that came in or went out. No text is shown.",
		Args: wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var t app.Trace
			return p.show(cmd.Context(), query{"trace", app.TraceInput{ID: args[0]}, &t, func() error { return p.showTrace(t) }}, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) showTrace(t app.Trace) error {
	fmt.Fprintf(p.out, "chat %s, trace %s\n", plain(t.Chat), plain(strings.Join(t.Traces, " and ")))
	rows := make([][]string, len(t.Steps))
	for i, s := range t.Steps {
		took := ""
		if s.TookMS > 0 {
			took = milliseconds(s.TookMS)
		}
		since := "+" + milliseconds(float64(s.At.Sub(t.Steps[0].At).Microseconds())/1000)
		rows[i] = []string{s.At.Local().Format("2006-01-02 15:04:05.000"), since, took, s.What, s.Detail}
	}
	return p.table("", rows, "time", "since", "took", "step", "")
}

func milliseconds(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	if d >= time.Second {
		return d.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%.1fms", ms)
}
