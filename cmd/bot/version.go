package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3". Without it
// the version comes from what the go command knows.
var version string

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: p.start(func(*cobra.Command) error {
			fmt.Fprintln(p.out, versionText())
			return nil
		}),
	}
}

func versionText() string {
	return fmt.Sprintf("magpie %s (%s %s/%s%s)", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, revision())
}

// revision is the commit that was built, if the go command noted it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["vcs.revision"] == "" {
		return ""
	}
	text := ", commit " + settings["vcs.revision"]
	if settings["vcs.modified"] == "true" {
		text += " with changes"
	}
	return text
}
