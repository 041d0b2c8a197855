package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"magpie/config"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// errUsage marks an error as wrong usage although a command had started.
var errUsage = errors.New("wrong usage")

// main runs one command line and returns the exit code.
func (p *program) main(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	var wrong *config.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &wrong):
		fmt.Fprintln(p.err, wrong)
		return exitUsage
	case !p.started || errors.Is(err, errUsage):
		text, _, _ := strings.Cut(err.Error(), "\n") // cobra adds suggestions on more lines
		fmt.Fprintf(p.err, "bot: %s; see bot --help\n", text)
		return exitUsage
	}
	fmt.Fprintf(p.err, "bot: %v\n", err)
	return exitFailed
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "bot",
		Short:             "Magpie: a self-hosted chat bot with an agent",
		Long:              "Magpie: a self-hosted chat bot with an agent.\n\nWithout a command it runs. Without a configuration it runs too: an offline\nassistant and a chat page on this machine.",
		Args:              cobra.NoArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.PersistentFlags().StringVar(&p.path, "config", "", "configuration file (default $BOT_CONFIG, else ./config.yaml)")
	run := p.runCommand()
	root.RunE = run.RunE
	root.Flags().AddFlagSet(run.Flags())
	root.AddCommand(
		run,
		p.configCommand(),
		p.auditCommand(),
		p.chatCommand(),
		p.healthCommand(),
		p.versionCommand(),
	)
	return root
}

// start marks where a command has understood its arguments.
func (p *program) start(fn func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		p.started = true
		return fn(cmd)
	}
}
