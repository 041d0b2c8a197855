package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"magpie/internal/app"
)

func (p *program) dlqCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "dlq", Short: "See messages that were given up, and send them on their way again",
		Long: "See messages that were given up (dead letters), and send them on their way again.\n\n" +
			"They are kept for 30 days. Resubmitting one twice is the same as once, and of a message\nthat was sent in part only the rest is sent.",
	}
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the dead letters, the oldest first", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				var all []app.Letter
				return p.show(cmd.Context(), query{"dlq.list", nil, &all, func() error { return p.listLetters(all) }}, asJSON)
			},
		},
		&cobra.Command{
			Use: "show NUMBER", Short: "Show a dead letter with its message", Args: wants(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				in, err := letters(args, false)
				if err != nil {
					return err
				}
				// A message has so many fields that people get JSON too.
				return p.show(cmd.Context(), query{name: "dlq.show", in: in}, true)
			},
		},
		p.dlqDo("resubmit", "Send dead letters on their way again", &asJSON),
		p.dlqDo("drop", "Remove dead letters for good", &asJSON),
	)
	return cmd
}

// dlqDo is a command that does something to letters.
func (p *program) dlqDo(name, short string, asJSON *bool) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: name + " NUMBER...", Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := letters(args, all)
			if err != nil {
				return err
			}
			return p.doLetters(cmd.Context(), name, in, *asJSON)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all that there are now")
	return cmd
}

// letters reads numbers of dead letters.
func letters(args []string, all bool) (app.LettersInput, error) {
	in := app.LettersInput{All: all}
	if all == (len(args) > 0) {
		return in, errors.New("want either numbers of dead letters or --all; bot dlq list shows them")
	}
	for _, arg := range args {
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil || n == 0 {
			return in, fmt.Errorf("%q is no number of a dead letter; bot dlq list shows them", arg)
		}
		in.Numbers = append(in.Numbers, n)
	}
	return in, nil
}

func (p *program) listLetters(all []app.Letter) error {
	rows := make([][]string, len(all))
	for i, l := range all {
		rows[i] = []string{strconv.FormatUint(l.Number, 10), moment(l.At), l.Way, l.Chat, l.From, shorten(l.Reason)}
	}
	return p.table("no dead letters", rows, "number", "given up", "way", "chat", "from", "why")
}

func (p *program) doLetters(ctx context.Context, name string, in app.LettersInput, asJSON bool) error {
	var done []app.LetterDone
	p.started = true
	if err := p.operate(ctx, "dlq."+name, in, &done); err != nil {
		return err
	}
	if asJSON {
		if err := p.printJSON(done); err != nil {
			return err
		}
	}
	bad := 0
	for _, d := range done {
		if d.Err != "" {
			bad++
			fmt.Fprintln(p.err, plain(d.Err))
		}
	}
	if !asJSON {
		fmt.Fprintf(p.out, "%s: %d\n", map[string]string{"drop": "dropped", "resubmit": "resubmitted"}[name], len(done)-bad)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d dead letters are left", bad, len(done))
	}
	return nil
}
