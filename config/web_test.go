package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/config"
)

func TestWebAddresses(t *testing.T) {
	for given, want := range map[string]string{
		"https://bot.example.org":            "https://bot.example.org",
		" https://bot.example.org/ ":         "https://bot.example.org",
		"HTTPS://Bot.Example.ORG.:8443//":    "https://bot.example.org:8443",
		"http://192.168.1.5/bot/":            "http://192.168.1.5/bot",
		"http://[2001:DB8::1]:8080/a/b/":     "http://[2001:db8::1]:8080/a/b",
		"https://机器人.example.org/聊天/":        "https://xn--gmqz0qc7o.example.org/%E8%81%8A%E5%A4%A9",
		"${NONE:-}":                          "",
		"${URL}":                             "https://from.example.org",
		"https://magpie.tail1234.ts.net/bot": "https://magpie.tail1234.ts.net/bot",
	} {
		cfg := load(t, "web: {public_url: '"+given+"'}", env{"URL": "https://from.example.org/"})
		if cfg.Web.PublicURL != want {
			t.Errorf("%q is %q, want %q", given, cfg.Web.PublicURL, want)
		}
	}
}

func TestWebNames(t *testing.T) {
	e := env{"SOME": " bot.example.org, *.example.net，10.0.0.5 ", "ONE": "a.example"}
	for given, want := range map[string]config.Names{
		"[bot.example.org, 'nas:8080']": {"bot.example.org", "nas:8080"},
		"bot.example.org":               {"bot.example.org"},
		"${SOME}":                       {"bot.example.org", "*.example.net", "10.0.0.5"},
		"['${ONE}', '${NONE:-}', b.c]":  {"a.example", "b.c"},
		"${NONE:-}":                     nil,
		"[]":                            nil,
		"":                              nil,
	} {
		cfg := load(t, "web:\n  hosts: "+given+"\n", e)
		if diff := cmp.Diff(want, cfg.Web.Hosts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
	}
	cfg := load(t, "web: {trustedProxies: '127.0.0.1 ::1 172.16.0.0/12'}", nil)
	if diff := cmp.Diff(config.Names{"127.0.0.1", "::1", "172.16.0.0/12"}, cfg.Web.TrustedProxies); diff != "" {
		t.Error(diff)
	}
}

// Each mistake is one line that names the key and what would be right.
func TestWebProblems(t *testing.T) {
	const address, proxy = "want an address with http:// or https://", "want the address of a proxy"
	for given, want := range map[string]string{
		"public_url: bot.example.org":                      "web.public_url: " + address,
		"public_url: ://x":                                 "web.public_url: " + address,
		"public_url: wss://bot.example.org":                "web.public_url: " + address,
		"public_url: https：//bot.example.org":              "web.public_url: holds the full-width character ：",
		"public_url: https://bot。example.org":              "web.public_url: holds the full-width character 。",
		"public_url: https://bot.example.org?x=1":          "web.public_url: want an address without ? and #",
		"public_url: 'https://bot.example.org/#a'":         "web.public_url: want an address without ? and #",
		"public_url: https://me:secret@bot.example.org":    "web.public_url: want an address without a user",
		"public_url: https://bot.example.org:99999":        "web.public_url: want a port",
		"public_url: http://0.0.0.0:18990":                 "web.public_url: 0.0.0.0 is where a program listens",
		"public_url: https://bot example.org":              "web.public_url: " + address,
		"public_url: https://b!t.example.org":              `web.public_url: "b!t.example.org" is no host name`,
		"public_url: https://bot.example.org/../x":         "web.public_url: want a plain path",
		"public_url: https://bot.example.org/api/":         "web.public_url: the path /api is one of the console's own",
		"public_url: https://bot.example.org/hooks/x":      "web.public_url: the path /hooks is one of the console's own",
		"hosts: https://bot.example.org/":                  "web.hosts: want a host name such as bot.example.org or *.example.org alone",
		"hosts: [a.example, 10.0.0.0/8]":                   "web.hosts[1]: want a host name",
		"hosts: [bot.*]":                                   "web.hosts[0]: want a host name",
		"hosts: ['a:b:c']":                                 "web.hosts[0]: want a host name",
		"hosts: {a: b}":                                    "web.hosts: want a text, got a section",
		"trusted_proxies: [nginx]":                         "web.trusted_proxies[0]: " + proxy,
		"trusted_proxies: [127.0.0.1, 10.0.0.0/33]":        "web.trusted_proxies[1]: " + proxy,
		"trusted_proxies: localhost":                       "web.trusted_proxies: " + proxy,
		"host: bot.example.org":                            "web.host: unknown key; did you mean hosts?",
		"listen: 127.0.0.1\n  public_url: bot.example.org": "web.listen: want host:port",
	} {
		got := strings.Join(problems(t, "web:\n  "+given+"\n", nil), "\n")
		if !strings.Contains(got, want) || strings.Contains(got, "me:secret") {
			t.Errorf("%s\n got %s\nwant %s", given, got, want)
		}
	}
	if got := strings.Join(problems(t, "web: {hosts: 'a.example,${TOKEN}'}", env{"TOKEN": "ve/ry-se/cret"}), "\n"); strings.Contains(got, "se/cret") {
		t.Errorf("a variable's value is shown: %s", got)
	}
}

func TestPublicURLIsTheDefaultOfChannels(t *testing.T) {
	for given, want := range map[string]string{
		"channels: {telegram: {token: x, mode: webhook}}\nweb: {public_url: 'https://example.org/bot/'}":                                     "https://example.org/bot",
		"channels: {telegram: {token: x, mode: webhook, public_url: 'https://hooks.example.org'}}\nweb: {public_url: 'https://example.org'}": "https://hooks.example.org",
		"channels: {telegram: {token: x, mode: webhook, public_url: '${NONE:-}'}}\nweb: {publicUrl: 'https://example.org'}":                  "https://example.org",
		"channels: {telegram: {token: x, mode: webhook}}":                                                                                    "",
	} {
		var got section
		if err := load(t, given, nil).Channels[0].Decode(&got); err != nil || got.PublicURL != want {
			t.Errorf("%s\n got %q, %v\nwant %q", given, got.PublicURL, err, want)
		}
	}
}
