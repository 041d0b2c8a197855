package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"magpie/internal/app"
)

func (p *program) pairCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "pair", Short: "Let strangers in by their codes, and shut them out",
		Long: "Let strangers in by their codes, and shut them out.\n\nWho stands in an allow list of the configuration needs no code and is not listed here.",
	}
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List who was let in, and who waits with a code", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				var all []app.Person
				return p.show(cmd.Context(), query{"pair.list", nil, &all, func() error { return p.listPairs(all) }}, asJSON)
			},
		},
		&cobra.Command{
			Use: "approve CODE", Short: "Let in who was given this code", Args: wants(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				var who app.Person
				return p.show(cmd.Context(), query{"pair.approve", app.PairInput{Code: args[0]}, &who, func() error { return p.saidOf("let in", who) }}, asJSON)
			},
		},
		&cobra.Command{
			Use: "revoke CHANNEL:SENDER", Short: "Shut out somebody who was let in, or make a code void", Args: wants(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				var who app.Person
				return p.show(cmd.Context(), query{"pair.revoke", app.PairInput{Person: args[0]}, &who, func() error { return p.saidOf("shut out", who) }}, asJSON)
			},
		},
	)
	return cmd
}

func (p *program) saidOf(what string, who app.Person) error {
	name := who.Person
	if who.Name != "" {
		name = who.Name + " (" + who.Person + ")"
	}
	_, err := fmt.Fprintf(p.out, "%s: %s\n", what, plain(name))
	return err
}

func (p *program) listPairs(all []app.Person) error {
	rows := make([][]string, len(all))
	for i, who := range all {
		state := "let in"
		if who.Code != "" {
			state = "waits"
		}
		rows[i] = []string{who.Person, who.Name, state, moment(who.At), who.Code, moment(who.Expires)}
	}
	return p.table("nobody was let in by a code, and nobody waits", rows, "person", "name", "state", "since", "code", "good until")
}
