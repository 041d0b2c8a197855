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
	cmd, err := root.ExecuteContextC(ctx)
	var wrong *config.Error
	switch {
	case err == nil:
		return exitDone
	case p.log != nil:
		return p.logged(err)
	case errors.As(err, &wrong):
		fmt.Fprintln(p.err, wrong)
		return exitUsage
	case !p.started || errors.Is(err, errUsage):
		text, _, _ := strings.Cut(err.Error(), "\n") // cobra adds suggestions on more lines
		fmt.Fprintf(p.err, "bot: %s; see %s --help\n", text, cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(p.err, "bot: %v\n", err)
	return exitFailed
}

// logged says the last error in the log, whose readers want no other lines.
func (p *program) logged(err error) int {
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		for line := range strings.Lines(wrong.Error()) {
			p.log.Error("configuration", "problem", strings.TrimSuffix(line, "\n"))
		}
		return exitUsage
	}
	p.log.Error("the bot ends", "err", err)
	if errors.Is(err, errUsage) {
		return exitUsage
	}
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
	// Not cobra's own: with its templates the linker keeps 4 MB more.
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			p.started = true
			_, err := fmt.Fprintln(p.out, versionText())
			return err
		}
		return run.RunE(cmd, args)
	}
	root.Flags().AddFlagSet(run.Flags())
	root.AddCommand(
		run,
		p.initCommand(),
		p.configCommand(),
		p.auditCommand(),
		p.backupCommand(),
		p.restoreCommand(),
		p.memoryCommand(),
		p.sessionCommand(),
		p.pairCommand(),
		p.dlqCommand(),
		p.traceCommand(),
		p.cronCommand(),
		p.mcpCommand(),
		p.chatCommand(),
		p.simulateCommand(),
		p.doctorCommand(),
		p.healthCommand(),
		p.versionCommand(),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		strict(c)
	}
	return root
}

// strict makes a command that only holds others refuse what is none of them:
// cobra would print its help and call that a success.
func strict(cmd *cobra.Command) {
	switch {
	case cmd.Name() == "help":
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if _, rest, err := cmd.Root().Find(args); err != nil || len(rest) > 0 {
				return fmt.Errorf("there is no command %q", strings.Join(args, " "))
			}
			return nil
		}
	case cmd.HasSubCommands() && !cmd.Runnable():
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			got := ""
			if len(args) > 0 {
				got = fmt.Sprintf(", got %q", args[0])
			}
			return fmt.Errorf("%s wants one of %s%s", cmd.Name(), strings.Join(names, ", "), got)
		}
	}
}

// start marks where a command has understood its arguments.
func (p *program) start(fn func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		p.started = true
		return fn(cmd)
	}
}

// wants checks the number of arguments, most -1 for any, and shows how the
// command is written.
func wants(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return fmt.Errorf("want %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return nil
	}
}

// noArgs refuses arguments of a command that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, got %q", cmd.Name(), args[0])
	}
	return nil
}
