package main

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"magpie/internal/app"
)

const ownerHelp = "An owner is <channel>:person:<sender id>, or <channel>:chat:<chat id> for a group; bot memory list shows those who have notes."

func (p *program) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "memory", Short: "See and change what the bot remembers", Long: "See and change what the bot remembers.\n\n" + ownerHelp}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list [OWNER]", Short: "List who has notes, or somebody's notes", Long: "List who has notes, or somebody's notes.\n\n" + ownerHelp, Args: wants(0, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				p.started = true
				if len(args) == 0 {
					return p.memoryOwners(cmd.Context())
				}
				return p.memoryList(cmd.Context(), args[0])
			},
		},
		&cobra.Command{
			Use: "add OWNER TEXT...", Short: "Add a note", Long: "Add a note.\n\n" + ownerHelp, Args: wants(2, -1),
			RunE: func(cmd *cobra.Command, args []string) error {
				p.started = true
				var e note
				err := p.operate(cmd.Context(), "memory.add", app.MemoryInput{Owner: args[0], Text: strings.Join(args[1:], " ")}, &e)
				return p.said(err, "added as number %d\n", e.N)
			},
		},
		&cobra.Command{
			Use: "remove OWNER NUMBER", Short: "Remove a note", Long: "Remove a note.\n\n" + ownerHelp, Args: wants(2, 2),
			RunE: func(cmd *cobra.Command, args []string) error {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 {
					return fmt.Errorf("%q is no number of a note; bot memory list %s shows them", args[1], args[0])
				}
				p.started = true
				var e note
				err = p.operate(cmd.Context(), "memory.remove", app.MemoryInput{Owner: args[0], Number: n}, &e)
				return p.said(err, "removed: %s\n", e.Text)
			},
		},
	)
	return cmd
}

// note is a note as the operations write it.
type note struct {
	N      int    `json:"n"`
	At     string `json:"at"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

// said prints what was done, unless it was not.
func (p *program) said(err error, format string, args ...any) error {
	if err == nil {
		_, err = fmt.Fprintf(p.out, format, args...)
	}
	return err
}

func (p *program) memoryOwners(ctx context.Context) error {
	var owners []app.MemoryOwner
	if err := p.operate(ctx, "memory.owners", nil, &owners); err != nil {
		return err
	}
	if len(owners) == 0 {
		fmt.Fprintln(p.out, "nothing is remembered")
	}
	sort.Slice(owners, func(a, b int) bool { return owners[a].Owner < owners[b].Owner })
	for _, o := range owners {
		fmt.Fprintf(p.out, "%s\t%d notes\n", o.Owner, o.Notes)
	}
	return nil
}

func (p *program) memoryList(ctx context.Context, owner string) error {
	var notes []note
	if err := p.operate(ctx, "memory.list", app.MemoryInput{Owner: owner}, &notes); err != nil {
		return err
	}
	if len(notes) == 0 {
		fmt.Fprintln(p.out, "nothing is remembered")
	}
	for _, n := range notes {
		day, _, _ := strings.Cut(n.At, "T")
		fmt.Fprintf(p.out, "%d\t%s\t%s\t(%s)\n", n.N, day, n.Text, n.Source)
	}
	return nil
}
