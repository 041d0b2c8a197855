package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"magpie/internal/app"
)

const sessionHelp = "A session is a chat, named by its address (telegram/1001, or telegram/-100123#7 with a thread) or by its key."

func (p *program) sessionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "session", Short: "See and clear the conversations", Long: "See and clear the conversations.\n\n" + sessionHelp}
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	var most, last int
	list := &cobra.Command{
		Use: "list", Short: "List the chats, the one used last first", Args: noArgs, PreRunE: positive("-n", &most),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []app.Session
			return p.show(cmd.Context(), query{"session.list", app.SessionInput{Last: most}, &all, func() error { return p.listSessions(all) }}, asJSON)
		},
	}
	list.Flags().IntVarP(&most, "sessions", "n", 50, "how many chats")
	one := &cobra.Command{
		Use: "show SESSION", Short: "Show a chat and its latest messages", Long: "Show a chat and its latest messages.\n\n" + sessionHelp,
		Args: wants(1, 1), PreRunE: positive("-n", &last),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s app.SessionShown
			return p.show(cmd.Context(), query{"session.show", app.SessionInput{Session: args[0], Last: last}, &s, func() error { return p.showSession(s) }}, asJSON)
		},
	}
	one.Flags().IntVarP(&last, "messages", "n", 20, "how many messages")
	cmd.AddCommand(list, one, &cobra.Command{
		Use: "clear SESSION", Short: "Remove what was said in a chat for good",
		Long: "Remove what was said in a chat for good: history, summary and journals. Settings, notes, jobs, files\n" +
			"and messages that wait stay. A turn that runs is waited for, for 10 seconds.\n\n" + sessionHelp,
		Args: wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.clearSession(cmd.Context(), args[0], asJSON) },
	})
	return cmd
}

func positive(flag string, n *int) func(*cobra.Command, []string) error {
	return func(*cobra.Command, []string) error {
		if *n < 1 {
			return fmt.Errorf("%s %d: want 1 or more", flag, *n)
		}
		return nil
	}
}

func (p *program) listSessions(all []app.Session) error {
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.Chat, string(s.Key), moment(s.Last), strconv.Itoa(s.Turns), strconv.Itoa(s.Waiting)}
	}
	return p.table("no sessions", rows, "chat", "session", "last", "turns", "waiting")
}

func (p *program) showSession(s app.SessionShown) error {
	turns := strconv.Itoa(s.Turns) + " turns"
	if !s.Last.IsZero() {
		turns += ", the last " + moment(s.Last)
	}
	fmt.Fprintf(p.out, "chat %s, session %s\n%s; %d messages wait\n", plain(s.Chat), s.Key, turns, s.Waiting)
	fmt.Fprintf(p.out, "a model is shown %d messages of about %d tokens\n", s.Messages, s.Tokens)
	if set := s.Settings; set.Zone+set.Lang+set.Model != "" {
		fmt.Fprintf(p.out, "zone %q, language %q, model %q\n", set.Zone, set.Lang, set.Model)
	}
	if s.Summary != "" {
		fmt.Fprintln(p.out, "summary of what came before:", plain(shorten(s.Summary)))
	}
	fmt.Fprintln(p.out)
	rows := make([][]string, len(s.Lines))
	for i, l := range s.Lines {
		role, text := l.Role, shorten(l.Text)
		if l.Tool != "" {
			role += " " + l.Tool
		}
		if len(l.Calls) > 0 {
			text = strings.TrimSpace(text + " [calls " + strings.Join(l.Calls, ", ") + "]")
		}
		rows[i] = []string{moment(l.At), role, text}
	}
	return p.table("nothing was said", rows, "time", "who", "what")
}

func (p *program) clearSession(ctx context.Context, name string, asJSON bool) error {
	if strings.TrimSpace(name) == "" {
		return errors.New("want a session; bot session list shows them")
	}
	var s app.Session
	return p.show(ctx, query{"session.clear", app.SessionInput{Session: name}, &s, func() error {
		_, err := fmt.Fprintf(p.out, "cleared: %s, %d turns\n", plain(s.Chat), s.Turns)
		return err
	}}, asJSON)
}
