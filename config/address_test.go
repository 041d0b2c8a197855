package config_test

import (
	"strings"
	"testing"

	"magpie/config"
)

// Addresses that only the start would refuse are refused here, without any of
// what they hold.
func TestAddresses(t *testing.T) {
	const port = "want a port from 1 to 65535"
	for _, c := range []struct{ key, file, value, want string }{
		{"OPENAI_BASE_URL", "", "https://x.openai.azure.com/openai/deployments/gpt4/?api-version=hunter2", "without ? and #"},
		{"OPENAI_BASE_URL", "", "https://llm.lan/v1?", "without ? and #"},
		{"OPENAI_BASE_URL", "", "https://llm.lan/v1#hunter2", "without ? and #"},
		{"OPENAI_BASE_URL", "", "https://llm.lan/v1#", "without ? and #"},
		{"OPENAI_BASE_URL", "", "http://user:hunter2@llm.lan:8080/v1", "without a user and a password"},
		{"OPENAI_BASE_URL", "", "http://hunter2@llm.lan/v1", "without a user and a password"},
		{"OPENAI_BASE_URL", "", "http://localhost:99999/v1", port},
		{"OPENAI_BASE_URL", "", "http://localhost:0/v1", port},
		{"OPENAI_BASE_URL", "", "http://:8080/v1", "want a URL with http:// or https://"},
		{"OPENAI_BASE_URL", "", "sk-hunter2-hunter2", "want a URL with http:// or https://"},
		{"ANTHROPIC_BASE_URL", "", "https://me:hunter2@llm.lan", "without a user and a password"},
		{"ANTHROPIC_BASE_URL", "", "https://llm.lan?key=hunter2", "without ? and #"},
		{"llm.models[0].base_url", "llm: {models: [{provider: openai, model: m, base_url: '${VALUE}'}]}", "http://u:hunter2@llm.lan/v1", "without a user and a password"},
		{"media.transcribe.base_url", "media: {transcribe: {model: m, base_url: '${VALUE}'}}", "http://llm.lan:70000", port},
		{"tools.web.search.base_url", "tools: {web: {search: {provider: searxng, base_url: '${VALUE}'}}}", "http://s:70000", port},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://u:hunter2@ss/w:rd#1@127.0.0.1:4222", "%2F"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://u:p@hunter2/x@127.0.0.1:4222", "write @ as %40"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://u:hunter2#1@127.0.0.1:4222", "# as %23"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://u:p@hunter2#1@127.0.0.1:4222", "# as %23"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://u:p@hunter2?1@127.0.0.1:4222", "? as %3F"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://u:hunter2,x@127.0.0.1:4222", "a comma as %2C"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://u:hunter2%zz@127.0.0.1:4222", "% as %25"},
		{"bus.url", "bus: {url: 'nats://u:hunter2@ss/w:rd#1@127.0.0.1:4222'}", "", "write @ as %40"},
		{"bus.url", "bus: {url: '${VALUE}'}", "wss://u:p@hunter2/x@n:443", "write @ as %40"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://a:4222,nats://b:99999", "want nats://host:port"},
		{"bus.url", "bus: {url: '${VALUE}'}", "nats://:4222", "want nats://host:port"},
	} {
		e := env{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "VALUE": c.value}
		if c.file == "" {
			e[c.key] = c.value
		}
		got := strings.Join(problems(t, c.file+"\n", e), "\n")
		if !strings.Contains(got, c.key+": ") || !strings.Contains(got, c.want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s %s\n got %s\nwant %s", c.key, c.value, got, c.want)
		}
	}
	for _, url := range []string{
		"nats://u:p%40ss%2Fw%23@127.0.0.1:4222", "nats://a:4222, nats://b:4222/", "nats://a", "tls://u:p@[::1]:4222", "wss://nats.example.org/path", "nats://token@a:4222", "nats://u:p:q@a:4222",
	} {
		load(t, "bus: {url: '"+url+"'}", nil)
	}
	for _, url := range []string{"http://ollama:11434/v1", "https://api.deepseek.com", "http://[::1]:8080/v1/", "https://x.openai.azure.com/openai/v1/"} {
		load(t, "{}", env{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url})
	}
}

// What stands behind the ? of an address may be a key.
func TestShowHidesQueries(t *testing.T) {
	cfg := load(t, "tools: {mcp_servers: {a: {url: 'https://m.example/mcp?key=hunter2'}}, exec: {deny_patterns: ['https?://x']}}", nil)
	shown, err := config.Show(cfg, nil)
	if err != nil || strings.Contains(string(shown), "hunter2") || !strings.Contains(string(shown), "https://m.example/mcp?***") || !strings.Contains(string(shown), "https?://x") {
		t.Errorf("%v\n%s", err, shown)
	}
}

func TestListen(t *testing.T) {
	for _, listen := range []string{"*:28997", "0:28998", "+:80", "1:80", "127.1:80", "256.0.0.1:80", "a b:80", "http:80:80", "a/b:80"} {
		got := strings.Join(problems(t, "web: {listen: '"+listen+"', token: 3f786850e387550fdab836ed7e6dc881}", nil), "\n")
		if !strings.Contains(got, "web.listen: want ") || strings.Contains(got, "\n") {
			t.Errorf("%s: %s", listen, got)
		}
	}
	for _, listen := range []string{":80", "0.0.0.0:80", "[::]:80", "[fe80::1%eth0]:80", "localhost:0", "bot.lan:80", "bot:http", "192.168.1.5:80"} {
		load(t, "web: {listen: '"+listen+"', token: 3f786850e387550fdab836ed7e6dc881}", nil)
	}
}

// Models in variables: what is warned of, and what is refused.
func TestModelVariables(t *testing.T) {
	const file = "{}\n"
	for _, c := range []struct {
		e    env
		want string
	}{
		{env{"OPENAI_MODEL": "gpt-4o"}, "OPENAI_MODEL is set, and without OPENAI_API_KEY"},
		{env{"ANTHROPIC_MODEL": "claude", "OPENAI_API_KEY": "sk-x"}, "ANTHROPIC_MODEL is set, and without ANTHROPIC_API_KEY"},
		{env{"OPENAI_MODEL": "sk-proj-hunter2"}, "OPENAI_MODEL looks like a key"},
		{env{"OPENAI_MODEL": "gpt-4o,gpt-4o-mini", "OPENAI_API_KEY": "sk-x"}, "blank or a comma"},
		{env{"OPENAI_MODEL": "GPT 4o", "OPENAI_API_KEY": "sk-x"}, "blank or a comma"},
		{env{"OPENAI_MODEL": "gpt-4o", "OPENAI_API_KEY": "sk-x"}, ""},
		{env{"OPENAI_MODEL": "", "OPENAI_API_KEY": ""}, ""},
		{env{"OPENAI_MODEL": "ft:gpt-4o:org::id", "OPENAI_API_KEY": "sk-x"}, ""},
		{env{"OPENAI_MODEL": "@cf/meta/llama-3:8b", "OPENAI_API_KEY": "sk-x"}, ""},
	} {
		got := strings.Join(load(t, file, c.e).Warnings(), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "hunter2") {
			t.Errorf("%v\n got %s\nwant %s", c.e, got, c.want)
		}
	}
	for _, key := range []string{"sk-proj-hunter2", "sk-ant-hunter2", "gsk_hunter2", "xai-hunter2", "AIzahunter2", "Bearer hunter2"} {
		got := strings.Join(problems(t, file, env{"OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": key}), "\n")
		if !strings.Contains(got, "OPENAI_MODEL: looks like a key, which belongs into OPENAI_API_KEY") || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// Tokens that are long and no secret.
func TestGuessableTokens(t *testing.T) {
	const file = "web: {listen: 0.0.0.0:80, token: '${WEB_TOKEN}'}\n"
	for _, token := range []string{"openssl rand -hex 16", "`openssl rand -hex 16`", "'openssl rand -base64 24'", "uuidgen -r", "head -c 16 /dev/urandom | xxd -p"} {
		got := strings.Join(problems(t, file, env{"WEB_TOKEN": token}), "\n")
		if !strings.Contains(got, "web.token: is a command") && !strings.Contains(got, "web.token: holds a command") {
			t.Errorf("%s: %s", token, got)
		}
	}
	for _, token := range []string{"1234567890123456", "aaaaaaaaaaaaaaaaaaaa", "qwertyuiopasdfgh", "password12345678"} {
		if got := strings.Join(load(t, file, env{"WEB_TOKEN": token}).Warnings(), "\n"); !strings.Contains(got, "can be guessed") || strings.Contains(got, token) {
			t.Errorf("%s: %s", token, got)
		}
	}
}

// What a variable holds is kept out of messages; their own examples stay.
func TestExamplesStay(t *testing.T) {
	for file, value := range map[string]string{"web: {public_url: '${VALUE}'}": "bot.example.org", "web: {hosts: '${VALUE}'}": ".example.org"} {
		got := strings.Join(problems(t, file, env{"VALUE": value}), "\n")
		if !strings.Contains(got, "bot.example.org") || strings.Contains(got, "such as bot$") {
			t.Error(got)
		}
	}
	for _, said := range []string{"[a.example.org, b.example.org]", "['a.example.org','b.example.org']", ` [ "a.example.org" b.example.org ] `, "a.example.org b.example.org"} {
		if got := load(t, "web: {hosts: '${VALUE}'}", env{"VALUE": said}).Web.Hosts; strings.Join(got, " ") != "a.example.org b.example.org" {
			t.Errorf("%s: %q", said, got)
		}
	}
	for said, want := range map[string]string{"[::1]": "[::1]", "[::1], [::2]": "[::1] [::2]", "[[::1], ::2]": "[::1] ::2", "[127.0.0.1, ::1]": "127.0.0.1 ::1"} {
		if got := load(t, "web: {trusted_proxies: '${VALUE}'}", env{"VALUE": said}).Web.TrustedProxies; strings.Join(got, " ") != want {
			t.Errorf("%s: %q", said, got)
		}
	}
}

func TestProxyVariables(t *testing.T) {
	for value, want := range map[string]string{
		"127.0.0.1：7890": "full-width ：", "http://user:hunter2@10.0.0.1:99999": "want a port", "http：//10.0.0.1:3128": "full-width ：", `"http://10.0.0.1:3128"`: "quotes around it", " http://10.0.0.1:3128": "blanks around it",
		"ftp://10.0.0.1:21": "want the address of a proxy", "http://": "want the address of a proxy", "http://u:hunter2/x@10.0.0.1:3128": "in a user or a password", "http://u:p@hunter2/x@10.0.0.1:3128": "in a user or a password", "“http://10.0.0.1:3128”": "quotes around it",
	} {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"} {
			got := strings.Join(problems(t, "{}\n", env{name: value}), "\n")
			if !strings.Contains(got, name+": ") || !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
				t.Errorf("%s=%s\n got %s\nwant %s", name, value, got, want)
			}
		}
	}
	for _, value := range []string{"", "http://10.0.0.1:3128", "10.0.0.1:3128", "proxy:3128", "http://u:p%40@proxy.lan:3128/", "socks5://127.0.0.1:1080", "http://[::1]:3128", "proxy.lan"} {
		load(t, "{}\n", env{"HTTPS_PROXY": value, "http_proxy": value, "ALL_PROXY": value, "NO_PROXY": "10.0.0.0/8, .example.org,*"})
	}
	if got := strings.Join(problems(t, "{}\n", env{"NO_PROXY": "10.0.0.1，example.org"}), "\n"); !strings.Contains(got, "NO_PROXY: ") || !strings.Contains(got, "full-width") {
		t.Errorf("a list with a full-width comma: %s", got)
	}
}

func TestSeldomMeant(t *testing.T) {
	for _, all := range []string{"0.0.0.0/0", "::/0", "10.0.0.0/8 0.0.0.0/0", "1.2.3.4/0"} {
		if got := strings.Join(load(t, "web: {trusted_proxies: '"+all+"'}", nil).Warnings(), "\n"); !strings.Contains(got, "web.trusted_proxies holds every address") {
			t.Errorf("%s: %s", all, got)
		}
	}
	for _, said := range []string{"CST", "cst", " CST "} {
		if got := strings.Join(problems(t, "timezone: '"+said+"'\n", nil), "\n"); !strings.Contains(got, "perhaps Asia/Shanghai, or America/Chicago?") {
			t.Errorf("%s: %s", said, got)
		}
	}
}

// The key of a channel and of a model, and what its errors and Show tell.
func TestProxyKeys(t *testing.T) {
	const file = "channels: {telegram: {token: '1:a', proxy: '${P:-}'}}\nllm: {models: [{provider: openai, model: m, api_key: sk-x, proxy: '${P:-}'}]}\n"
	for value, want := range map[string]string{
		"off": "none is without a proxy", "socks4://me:hunter2@10.0.0.1:1": "socks5://", "http://me:hunter2@10.0.0.1:70000": "want a port", "http://me:hunter2@": "want the address of a proxy",
		"http://10.0.0.1：3128": "full-width ：", "http://me:a/hunter2@10.0.0.1:3128": "/ as %2F", "10.0.0.1;hunter2": "want the address of a proxy",
	} {
		got := strings.Join(problems(t, file, env{"P": value}), "\n")
		for _, key := range []string{"1:44: channels.telegram.proxy: ", "llm.models[0].proxy: "} {
			if !strings.Contains(got, key) || strings.Count(got, want) != 2 || strings.Contains(got, "hunter2") {
				t.Errorf("%s\n got %s\nwant %s with %s", value, got, key, want)
			}
		}
	}
	for _, value := range []string{"", "none", "direct", "http://10.0.0.1:3128", "https://proxy.lan", "socks5://me:hunter2@10.0.0.1:1080", "proxy:3128"} {
		c := load(t, file, env{"P": value})
		if got := c.Proxies(); len(got) != 3 || got[0] != value || got[2] != value { // with that of web
			t.Errorf("%s: %q", value, got)
		}
		if shown, err := config.Show(c, nil); err != nil || strings.Contains(string(shown), "hunter2") || strings.Contains(value, "@") != strings.Contains(string(shown), "proxy: socks5://***@10.0.0.1:1080") {
			t.Errorf("%s: %v\n%s", value, err, shown)
		}
	}
	load(t, "channels: {telegram: {enabled: false, proxy: off}}\n", nil)
}
