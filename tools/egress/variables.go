package egress

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/internal/proxy"
)

//go:embed node.cjs
var node string

// Prepare puts what programs need to find the proxy at an address into temp, a
// folder of theirs, and returns their variables. env is what they have besides.
// listens are programs that also speak with what they start themselves.
func Prepare(temp, address string, listens bool, env []string) ([]string, error) {
	preload := filepath.Join(temp, "proxy.cjs")
	if err := os.WriteFile(preload, []byte(node), 0o600); err != nil {
		return nil, fmt.Errorf("tell Node of the proxy: %w", err)
	}
	options := fmt.Sprintf("NODE_OPTIONS=--require %q", preload)
	for _, v := range env {
		if more, ok := strings.CutPrefix(v, "NODE_OPTIONS="); ok {
			options += " " + more
		}
	}
	return append(variables(address, listens), options), nil
}

func variables(address string, listens bool) []string {
	var all []string
	set := func(value string, names ...string) {
		for _, n := range names {
			all = append(all, n+"="+value)
		}
	}
	url := "http://" + address
	host, port, _ := net.SplitHostPort(address)
	set(url, slices.Concat(proxy.Variables(), []string{
		"npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY",
	})...)
	own := ""
	if listens {
		own = "localhost,127.0.0.1,::1"
	}
	set(own, "NO_PROXY", "no_proxy", "npm_config_noproxy")
	set("1", "NODE_USE_ENV_PROXY") // from Node 22.21 and 24 on; before that the preload does it
	java := "-Dhttp.proxyHost=" + host + " -Dhttp.proxyPort=" + port + " -Dhttps.proxyHost=" + host + " -Dhttps.proxyPort=" + port
	if !listens {
		java += " -Dhttp.nonProxyHosts="
	}
	set(java, "MAVEN_OPTS", "GRADLE_OPTS")
	set("sh -c 'echo \"git over SSH does not pass the guarded network of commands: use the https:// address of the repository\" >&2; exit 255' --", "GIT_SSH_COMMAND")
	return all
}
