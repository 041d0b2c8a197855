package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"magpie/config"
	"magpie/internal/app"
)

func (p *program) configCommand() *cobra.Command {
	parent := &cobra.Command{
		Use:   "config",
		Short: "Check, show or describe the configuration",
	}
	parent.AddCommand(
		&cobra.Command{Use: "check", Short: "Report everything that is wrong, with its place", Args: noArgs, RunE: p.start(p.checkConfig)},
		&cobra.Command{Use: "show", Short: "Print the effective configuration without secrets", Args: noArgs, RunE: p.start(p.showConfig)},
		&cobra.Command{Use: "schema", Short: "Print a JSON Schema for editors", Args: noArgs, RunE: p.start(p.printSchema)},
	)
	return parent
}

func (p *program) checkConfig(*cobra.Command) error {
	cfg, _, err := p.load()
	p.warn(cfg)
	if cfg != nil {
		err = config.Join(err, app.CheckFolders(cfg))
	}
	if err != nil {
		return err
	}
	if cfg.File == "" {
		fmt.Fprintln(p.out, "no configuration file: the defaults are used")
		return nil
	}
	fmt.Fprintln(p.out, cfg.File+": ok")
	return nil
}

// warn prints what a configuration is warned of, beside its mistakes too; nil is
// one that could not be read.
func (p *program) warn(cfg *config.Config) {
	if cfg == nil {
		return
	}
	for _, w := range cfg.Warnings(variableNames()...) {
		if p.log != nil {
			p.log.Warn("configuration", "problem", w)
			continue
		}
		fmt.Fprintln(p.err, "warning:", w)
	}
}

// variableNames are the names of the environment's variables, among which may
// be misspelt ones.
func variableNames() []string {
	var all []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		all = append(all, name)
	}
	return all
}

func (p *program) showConfig(*cobra.Command) error {
	cfg, sections, err := p.load()
	if err != nil {
		return err
	}
	text, err := config.Show(cfg, sections)
	if err != nil {
		return err
	}
	_, err = p.out.Write(text)
	return err
}

func (p *program) printSchema(*cobra.Command) error {
	text, err := config.Schema(p.defaults())
	if err != nil {
		return err
	}
	_, err = p.out.Write(text)
	return err
}
