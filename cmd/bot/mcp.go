package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"magpie/internal/app"
	"magpie/tools/mcp"
)

func (p *program) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "See and test the MCP servers"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the servers, with their state in the running bot", Args: noArgs,
			RunE: p.start(func(cmd *cobra.Command) error {
				var states []mcp.State
				if err := p.operate(cmd.Context(), "mcp.list", nil, &states); err != nil {
					return err
				}
				p.showMCP(states)
				return nil
			}),
		},
		&cobra.Command{
			Use: "test [NAME...]", Short: "Connect to each server, or to those named, and list their tools",
			RunE: func(cmd *cobra.Command, args []string) error {
				p.started = true
				return p.testMCP(cmd.Context(), args)
			},
		},
	)
	return cmd
}

func (p *program) testMCP(ctx context.Context, names []string) error {
	cfg, _, err := p.load()
	if err != nil {
		return err
	}
	states, err := app.ProbeMCP(ctx, cfg, app.Options{Version: buildVersion(), Log: slog.New(slog.DiscardHandler)}, names...)
	if err != nil {
		return err
	}
	p.showMCP(states)
	bad := 0
	for _, s := range states {
		if !s.Connected {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d MCP servers do not work", bad, len(states))
	}
	return nil
}

func (p *program) showMCP(states []mcp.State) {
	if len(states) == 0 {
		fmt.Fprintln(p.out, "no MCP server is configured (tools.mcp_servers)")
	}
	for _, s := range states {
		state := "connected"
		if !s.Connected {
			state = "not connected"
		}
		fmt.Fprintf(p.out, "%s (%s): %s\n", s.Name, s.Kind, state)
		if s.Err != "" {
			fmt.Fprintf(p.out, "  %s\n", s.Err)
		}
		for _, path := range s.Closed {
			fmt.Fprintf(p.out, "  out of its reach: %s (tools.mcp_servers.%s.paths opens it)\n", plain(path), s.Name)
		}
		if s.Stray > 0 {
			fmt.Fprintf(p.out, "  it prints to its standard output what are no messages (%d times); they are passed over\n", s.Stray)
		}
		for _, t := range s.Tools {
			fmt.Fprintf(p.out, "  %s\n", t)
		}
		for _, t := range s.Tasks {
			fmt.Fprintf(p.out, "  not offered, since it runs as a task only: %s\n", plain(t))
		}
		for _, t := range s.Skipped {
			fmt.Fprintf(p.out, "  left out: %s\n", plain(t))
		}
	}
}
