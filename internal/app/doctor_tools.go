package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"magpie/config"
	"magpie/tools/screenshot"
	"magpie/tools/shell"
	"magpie/tools/shell/sandbox"
)

// toolExams are the checks of what the tools need of the machine.
func toolExams(cfg *config.Config) []exam {
	exams := []exam{
		{"sandbox", func(ctx context.Context) (string, error) { return examineSandbox(ctx, cfg) }},
		{"browser", func(context.Context) (string, error) { return examineBrowser(cfg) }},
	}
	if len(cfg.Tools.AllowedPaths) > 0 {
		exams = append(exams, exam{"allowed folders", func(context.Context) (string, error) { return examineFolders(cfg) }})
	}
	for _, s := range cfg.Tools.MCPServers {
		if !s.Enabled {
			continue
		}
		exams = append(exams, exam{"mcp " + s.Name, func(ctx context.Context) (string, error) { return examineMCP(ctx, cfg, s.Name) }})
	}
	return exams
}

// examineFolders looks whether the tools can use the folders they are allowed.
func examineFolders(cfg *config.Config) (string, error) {
	if err := CheckFolders(cfg); err != nil {
		return "", &advised{err, "make the folders, or correct tools.allowed_paths"}
	}
	return fmt.Sprintf("tools.allowed_paths: %d can be opened", len(cfg.Tools.AllowedPaths)), nil
}

// examineSandbox says what commands are confined by.
func examineSandbox(ctx context.Context, cfg *config.Config) (string, error) {
	if !cfg.Tools.Exec.Enabled {
		return "commands are switched off (tools.exec.enabled)", nil
	}
	if shell.Missing() {
		return "there is no shell here, so commands are not offered", nil
	}
	if limit, ok := memoryLimit(); ok && limit < trialMemory { // the trial is two more processes
		return "", &unseen{fmt.Sprintf("not tried in a memory limit of %s, beside the bot: see \"sandbox of commands\" in its log", bytesText(uint64(limit)))}
	}
	f, err := openFence(cfg, fenceOptions(cfg))
	if err != nil {
		return "", &advised{err, "correct workspace or tools.allowed_paths"}
	}
	defer f.Close()
	s, err := shell.New(shellConfig(cfg, nil), shell.Deps{Fence: f})
	if errors.Is(err, sandbox.ErrUnavailable) || err == nil && s.Report().Kind == sandbox.Off {
		if blind := asRoot(cfg); blind != nil {
			return "", blind
		}
	}
	if err != nil {
		return "", &advised{err, "correct tools.exec; sandbox: auto takes what the machine has"}
	}
	return proven(ctx, cfg, s)
}

// proven says what is in force, and has tried it.
func proven(ctx context.Context, cfg *config.Config, s *shell.Shell) (string, error) {
	e, report := cfg.Tools.Exec, s.Report()
	switch {
	case report.Kind == sandbox.Off && e.Sandbox != string(sandbox.Off):
		return "", &advised{
			errors.New(report.Text),
			"use a Linux kernel from 5.13 on with Landlock, or install bwrap; or switch commands off with tools.exec.enabled: false; or, if that is wanted, say so with tools.exec.sandbox: off",
		}
	case report.Kind != sandbox.Off && report.Network == sandbox.Open && e.Network != string(sandbox.Open):
		return "", &advised{
			errors.New(report.Text),
			"use a Linux kernel from 5.9 on that lets the bot filter system calls; or have tools.exec.network: none; or, if that is wanted, say so with tools.exec.network: open",
		}
	}
	const metadata = "169.254.169.254:80"
	private := []string{metadata}
	if host, port, err := net.SplitHostPort(cfg.Web.Listen); err == nil {
		if addr, err := netip.ParseAddr(host); err != nil || addr.IsUnspecified() {
			host = "127.0.0.1"
		}
		private = append(private, net.JoinHostPort(host, port))
	}
	tried, err := s.Proof(ctx, private...)
	if err != nil {
		return "", &advised{err, "report this as a fault of the program; until then set tools.exec.network: none, or tools.exec.enabled: false"}
	}
	if tried != "" {
		tried = "; " + tried
	}
	return report.Text + tried, nil
}

// asRoot says why it shows nothing when root finds no sandbox: its commands have
// no rights over other users' folders. nil: it does show something.
func asRoot(cfg *config.Config) error {
	uid, _, ok := foreign(cfg.DataDir)
	if !ok {
		return nil
	}
	dir, err := os.MkdirTemp("", "magpie-doctor-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir) // empty
	s, err := sandbox.New(sandbox.Options{Want: sandbox.Kind(cfg.Tools.Exec.Sandbox), Write: []string{dir}})
	if err != nil || s.Report().Kind == sandbox.Off {
		return nil
	}
	return &unseen{fmt.Sprintf("%s works on this machine, but root cannot try it in %s, which belongs to uid %d: "+
		"run bot doctor as that user, or see \"sandbox of commands\" in the bot's log", s.Report().Kind, cfg.Workspace, uid)}
}

func examineBrowser(cfg *config.Config) (string, error) {
	if path := screenshot.Chrome(cfg.Tools.Screenshot.Chrome); path != "" {
		return "pictures of web pages are taken by " + path, nil
	}
	if want := cfg.Tools.Screenshot.Chrome; want != "" {
		return "", &advised{fmt.Errorf("there is no %s", want), "install it, or correct tools.screenshot.chrome"}
	}
	return "no Chromium found: pictures of web pages are not offered", nil
}

// examineMCP tries one server.
func examineMCP(ctx context.Context, cfg *config.Config, name string) (string, error) {
	states, err := TestMCP(ctx, cfg, nil, name)
	if err != nil {
		return "", err
	}
	s := states[0]
	if !s.Connected {
		return "", &advised{errors.New(s.Err), "correct tools.mcp_servers." + s.Name}
	}
	if len(s.Closed) > 0 {
		return "", &advised{
			fmt.Errorf("it runs in the sandbox, which keeps it from %s", strings.Join(s.Closed, ", ")),
			fmt.Sprintf("name what it needs in tools.mcp_servers.%s.paths", s.Name),
		}
	}
	text := fmt.Sprintf("%d tools", len(s.Tools))
	if s.Stray > 0 {
		text += fmt.Sprintf("; it prints to its standard output what are no messages (%d times), which are passed over", s.Stray)
	}
	return text, nil
}
