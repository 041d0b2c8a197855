package config_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/config"
)

func TestAllProblemsAtOnce(t *testing.T) {
	got := problems(t, `data_dirr: x
log:
  level: loud
bus:
  sync: sometimes
  replicas: 3
agent: {max_turns: many, busy: steering, debounce: 5}
llm:
  models:
    - {model: x}
    - provider: openai
      price: {input: -1}
channels:
  telegram:
    pairing: yes
    grop: off
    rate: fast
  "a b": {}
web: {listen: 0.0.0.0:80}
web: {}
`, nil)
	want := []string{
		"1:1: data_dirr: unknown key; did you mean data_dir? accepted: data_dir, workspace, timezone, log, bus, llm, agent, subagent, media, tools, cron, security, web, channels",
		`3:10: log.level: want one of debug, info, warn, error, got the text "loud"`,
		`5:9: bus.sync: want always or a duration such as 10s, got the text "sometimes"`,
		"6:13: bus.replicas: the embedded bus has one copy; only an external bus has that: set bus.url",
		`7:20: agent.max_turns: want a whole number, got the text "many"`,
		`7:32: agent.busy: want one of steer, queue, collect, interrupt, got the text "steering"; did you mean steer?`,
		"7:52: agent.debounce: want a duration such as 30s or 10m, got 5",
		"10:8: llm.models[0].provider: is required: one of openai, anthropic, offline",
		"11:7: llm.models[1].model: is required: the name that the server has for the model",
		"12:22: llm.models[1].price.input: want at least 0, got -1",
		`15:14: channels.telegram.pairing: want true or false, got the text "yes"`,
		"17:11: channels.telegram.rate: want auto, off or a rate such as 20/s",
		`18:3: channels.a b: want a name of at most 32 letters, digits, - and _, other than "system"`,
		"19:7: web.token: is required because web.listen can be reached from other machines",
		"20:1: web: given twice: remove one of them",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestOneProblem(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"tab", "log:\n\tlevel: info", "2:1: a tab indents the line: YAML wants spaces"},
		{"UTF-16", "\xff\xfel\x00", "the file is UTF-16: save it as UTF-8"},
		{"invalid UTF-8", "a: b\nc: \xff", "2:1: the line is not UTF-8 text"},
		{"NUL", "a: \x00", "1:1: the line holds a NUL character"},
		{"second document", "log: {}\n---\nbus: {}", "3:1: a second YAML document: everything belongs into one"},
		{"anchor", "log: &a {level: info}", "1:6: a YAML anchor (&name): not supported here, write the value out"},
		{"alias", "log: *a", "1:6: a YAML alias (*name): not supported here, write the value out"},
		{"merge key", "log: {<<: {level: info}}", "1:7: a YAML merge key (<<): not supported here, write the keys out"},
		{"tag", "web: {token: !!binary aGk=}", "1:14: a YAML tag (!name): not supported here, write the value out"},
		{"infinity", "security: {budget: {usd_per_day: .inf}}", "1:34: a number without a value: not supported here, write the value out"},
		{"a list at the top", "- a", "1:1: want a section with keys (data_dir, "},
		{"a text at the top", "hello", "1:1: want a section with keys (data_dir, "},
		{"deep", strings.Repeat("[", 100_000), "1:257: nested more than 32 levels deep"},
		{"deep dashes", strings.Repeat("- ", 100_000), "1:1: nested more than 32 levels deep"},
		{"deep but parsed", "media: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "1:8: media: want a section with keys (max_bytes, ttl, transcribe, oss), got a list\n1:40: nested more than 32 levels deep"},
		{"long", strings.Repeat("#\n", 10_001), "10001:1: the file has more than 10000 lines"},
		{"two spellings", "dataDir: a\ndata_dir: b", "2:1: data_dir: given twice: remove one of them"},
		{"unset variable", "web: {token: '${TOKEN}'}", "1:14: web.token: the variable TOKEN is not set: set it, or write ${TOKEN:-default}"},
		{"empty variable", "web: {token: 'a${EMPTY}'}", "1:14: web.token: the variable EMPTY is not set: set it, or write ${EMPTY:-default}"},
		{"malformed variable", "web: {token: '${1X}'}", `1:14: web.token: "${1X" is no variable: want ${NAME} or ${NAME:-default}; $${ writes a plain ${`},
		{"unclosed variable", "web: {token: '${X'}", `1:14: web.token: "${X" is no variable: want ${NAME} or ${NAME:-default}; $${ writes a plain ${`},
		{"variable of a wrong type", "agent: {max_turns: '${WORD}'}", `1:20: agent.max_turns: want a whole number, got "${WORD}"; the variable WORD holds a text`},
		{"fraction", "agent: {max_turns: 1.5}", "1:20: agent.max_turns: want a whole number, got 1.5"},
		{"overflow", "agent: {max_turns: 99999999999999999999}", "1:20: agent.max_turns: want a whole number, got the text \"99999999999999999999\""},
		{"zero", "agent: {max_turns: 0}", "1:20: agent.max_turns: want at least 1, got 0"},
		{"limit + 1", "agent: {max_turns: 10001}", "1:20: agent.max_turns: want at most 10000, got 10001"},
		{"number as truth", "web: {}\nsecurity: {audit_log_enabled: 1}", "2:31: security.audit_log_enabled: want true or false, got 1"},
		{"truth as text", "timezone: true", "1:11: timezone: want a text, got true: quote it if it is meant as text"},
		{"negative duration", "media: {ttl: -5m}", `1:14: media.ttl: want a duration such as 30s or 10m, got the text "-5m"`},
		{"short duration", "subagent: {timeout: 1ms}", `1:21: subagent.timeout: want at least 1s, got the text "1ms"`},
		{"text for a list", "security: {admins: 'web:owner'}", "1:20: security.admins: want a list such as [a, b], got text"},
		{"hole in a list", "security: {admins: [~]}", "1:21: security.admins[0]: is empty"},
		{"list for a text", "timezone: [a]", "1:11: timezone: want a text, got a list"},
		{"zone", "timezone: Mars/Olympus", `1:11: timezone: want an IANA name such as Europe/Berlin or Asia/Shanghai, or "", got the text "Mars/Olympus"`},
		{"store in the workspace", "workspace: .", "data_dir: stands inside ., where the tools of the agent may read and write: keep them apart"},
		{"workspace of a server", "workspace: data/mcp/files", "1:12: workspace: data/mcp/files is where MCP servers are started, and what the agent writes there they might run: want another folder"},
		{"all servers opened", "tools: {allowed_paths: [a, data/mcp]}", "1:28: tools.allowed_paths[1]: data/mcp is where MCP servers are started, and what the agent writes there they might run: want another folder"},
		{"bus address", "bus: {url: 'localhost:4222'}", "1:12: bus.url: want nats://host:port, several with commas between them"},
		{"even copies", "bus: {url: 'nats://a', replicas: 2}", "1:34: bus.replicas: want 1, 3 or 5, got 2"},
		{"half of TLS", "bus: {url: 'nats://a', tls: {cert: a}}", "1:30: bus.tls: cert and key belong together: give both or none"},
		{"creds alone", "bus: {creds_file: a}", "1:19: bus.creds_file: only an external bus has that: set bus.url"},
		{"anthropic", "llm: {models: [{provider: anthropic, model: m, base_url: 'https://x/v1/'}]}", "1:58: llm.models[0].base_url: want it without /v1, for example https://api.anthropic.com"},
		{"openai", "llm: {models: [{provider: openai, model: m, base_url: 'https://x/v1/chat/completions'}]}", "1:55: llm.models[0].base_url: want it without /chat/completions, for example https://api.openai.com/v1"},
		{"no URL", "llm: {models: [{provider: openai, model: m, base_url: 'x:1'}]}", "1:55: llm.models[0].base_url: want a URL with http:// or https://"},
		{"same name", "llm: {models: [{provider: offline, name: a}, {provider: offline, name: a}]}", "1:72: llm.models[1].name: the name a is given twice"},
		{"output over context", "llm: {models: [{provider: openai, model: m, context_tokens: 10, max_output_tokens: 10}]}", "1:84: llm.models[0].max_output_tokens: want less than context_tokens (10), got 10"},
		{"history over context", "agent: {history_tokens: 128000}", "1:25: agent.history_tokens: want less than the context of model offline (128000)"},
		{"prompt", "agent: {system_prompt_file: /no/file}", "1:29: agent.system_prompt_file: cannot be read: no such file or directory"},
		{"transcriber", "media: {transcribe: {base_url: 'http://x'}}", "1:22: media.transcribe: base_url and model belong together: give both or none"},
		{"half an OSS", "media: {oss: {bucket: b}}", "1:15: media.oss: endpoint, bucket, access_key_id and access_key_secret belong together: give all or none"},
		{"OSS with a blank", "media: {oss: {endpoint: x y, bucket: b, access_key_id: i, access_key_secret: s}}", "1:25: media.oss.endpoint: want an address such as https://oss-cn-hangzhou.aliyuncs.com"},
		{"OSS by ftp", "media: {oss: {endpoint: 'ftp://x', bucket: b, access_key_id: i, access_key_secret: s}}", "1:25: media.oss.endpoint: want an address such as https://oss-cn-hangzhou.aliyuncs.com"},
		{"google", "tools: {web: {search: {provider: google}}}", "1:24: tools.web.search.engine_id: is required for google"},
		{"searxng", "tools: {web: {search: {provider: searxng}}}", "1:24: tools.web.search.base_url: is required for searxng"},
		{"network of commands", "tools: {exec: {network: closed}}", "1:25: tools.exec.network: want one of auto, guarded, open, none, got the text \"closed\""},
		{"network without a sandbox", "tools: {exec: {sandbox: off, network: guarded}}", "1:39: tools.exec.network: without a sandbox (tools.exec.sandbox: off) nothing holds commands back: want open, or a sandbox"},
		{"host with a scheme", "tools: {exec: {hosts: [example.org, 'https://example.org']}}", "1:37: tools.exec.hosts[1]: want a host such as example.org, or *.example.org for all below it, without scheme, port and path; got the text \"https://example.org\""},
		{"hosts of an open network", "tools: {exec: {network: open, hosts: [example.org]}}", "1:38: tools.exec.hosts: only a guarded network knows hosts: want tools.exec.network: guarded, or no hosts"},
		{"network", "tools: {web: {allow_private: [10.0.0.1]}}", `1:31: tools.web.allow_private[0]: want a network such as 127.0.0.0/8, got the text "10.0.0.1"`},
		{"pattern", "tools: {exec: {deny_patterns: ['(']}}", `1:32: tools.exec.deny_patterns[0]: want a regular expression (RE2), got the text "(": missing closing )`},
		{"rule", "tools: {policy: [{tool: exec}]}", "1:19: tools.policy[0].action: is required: one of allow, ask, deny"},
		{"exec bounds", "tools: {exec: {timeout: 20m}}", "1:25: tools.exec.timeout: want at most max_timeout (10m), got 20m"},
		{"nothing allowed", "tools: {exec: {allow_list_only: true}}", "1:33: tools.exec.allow_list_only: no command could run: give allow_patterns, or set tools.exec.enabled to false"},
		{"MCP", "tools: {mcp_servers: {a: {command: x, url: 'http://y'}}}", "1:23: tools.mcp_servers.a: want either command or url"},
		{"MCP list", "tools: {mcp_servers: [{name: a, url: 'http://y'}, {name: a, url: 'http://y'}]}", "1:52: tools.mcp_servers[1]: the name a is given twice"},
		{"MCP text", "tools: {mcp_servers: a}", "1:22: tools.mcp_servers: want names with sections, or a list of sections with names, got text"},
		{"misfire", "cron: {misfire: later}", `1:17: cron.misfire: want one of run_once, skip, {run_if_within: 10m}, got the text "later"`},
		{"misfire key", "cron: {misfire: {within: 10m}}", "1:18: cron.misfire.within: unknown key; accepted: run_if_within\n1:18: cron.misfire.run_if_within: is required"},
		{"rate", "security: {rate_limit: {per_sender: 20}}", `1:37: security.rate_limit.per_sender: want a rate such as 20/1m or 5/s, got 20`},
		{"admin", "security: {admins: [me]}", `1:21: security.admins[0]: want "<channel>:<sender id>", got the text "me"`},
		{"admin's channel", "security: {admins: ['telegram:1']}", "1:21: security.admins[0]: there is no channel of that name in channels"},
		{"budget without price", "security: {budget: {usd_per_day: 1}}\nllm: {models: [{provider: openai, model: m}]}", "1:34: security.budget.usd_per_day: no model has a price: set llm.models[].price, or use tokens_per_day"},
		{"listen", "web: {listen: '8080'}", `1:15: web.listen: want host:port such as 127.0.0.1:18990, got the text "8080"`},
		{"all interfaces", "web: {listen: ':8080'}", "1:7: web.token: is required because web.listen can be reached from other machines"},
		{"system", "channels: {system: {}}", `1:12: channels.system: want a name of at most 32 letters, digits, - and _, other than "system"`},
		{"a channel as text", "channels: {web: on}", "1:17: channels.web: want a section with keys, got text"},
		{"channels as a list", "channels: [web]", "1:11: channels: want names with sections, got a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := problems(t, c.text, env{"EMPTY": "", "WORD": "sk-secret"})
			if !strings.HasSuffix(c.want, "(data_dir, ") {
				if diff := cmp.Diff(strings.Split(c.want, "\n"), trim(got)); diff != "" {
					t.Errorf("problems (-want +got):\n%s", diff)
				}
			} else if !strings.HasPrefix(got[0], c.want) {
				t.Errorf("want %q…, got %q", c.want, got)
			}
		})
	}
}

// trim removes what is left of the file's name where no line is known.
func trim(lines []string) []string {
	for i, l := range lines {
		if _, rest, ok := strings.Cut(l, "config.yaml: "); ok {
			lines[i] = rest
		}
		lines[i] = strings.TrimPrefix(lines[i], " ")
	}
	return lines
}

// section is what an adapter would have.
type section struct {
	Token     chat.Secret `required:"true"`
	APIBase   string      `yaml:"api_base"`
	Mode      string      `oneof:"poll|webhook"`
	PublicURL string
	Upload    struct{ MaxParts int }
	KeepFor   time.Duration `min:"1m"`
	Retries   *int
	Names     map[string]string
	Level     level
}

type level int

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "high" {
		return errors.New("want high")
	}
	*l = 9
	return nil
}

func (l level) MarshalText() ([]byte, error) {
	if l != 9 {
		return nil, errors.New("want 9")
	}
	return []byte("high"), nil
}

func TestChannels(t *testing.T) {
	cfg := load(t, `
channels:
  web: {enabled: false}
  work:
    type: telegram
    allow: [123456789, "*"]
    pairing: ${PAIR}
    group: open
    rate: 20/s
    stream: false
    token: ${TOKEN}
    apiBase: http://127.0.0.1:1
    upload: {maxParts: 3}
    retries: 2
    names: {a: b}
    level: high
  discord:
  feishu: {enabled: '${OFF:-false}', token: '${NOT_SET}', nonsense: 1}
`, env{"TOKEN": "12:ab", "PAIR": "0"})
	var names []string
	for _, c := range cfg.Channels {
		names = append(names, fmt.Sprint(c.Name, " ", c.Type, " ", c.Enabled))
	}
	if diff := cmp.Diff([]string{"discord discord true", "feishu feishu false", "web web false", "work telegram true"}, names); diff != "" {
		t.Fatalf("channels (-want +got):\n%s", diff)
	}
	work := cfg.Channels[3]
	access := config.Access{Allow: []string{"123456789", "*"}, Group: "open", GroupContext: 20}
	if diff := cmp.Diff(access, work.Access); diff != "" || work.Stream || work.Rate != "20/s" {
		t.Errorf("common keys (-want +got):\n%s\n%+v", diff, work)
	}
	got := section{Mode: "poll", KeepFor: time.Hour}
	if err := work.Decode(&got); err != nil {
		t.Fatal(err)
	}
	two := 2
	want := section{
		Token: "12:ab", APIBase: "http://127.0.0.1:1", Mode: "poll", KeepFor: time.Hour, Retries: &two,
		Names: map[string]string{"a": "b"}, Level: 9,
	}
	want.Upload.MaxParts = 3
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("section (-want +got):\n%s", diff)
	}
	if access := cfg.Channels[0].Access; !access.Pairing || access.Group != "mention" || access.Allow != nil {
		t.Errorf("defaults of a channel: %+v", access)
	}
}

func TestChannelProblems(t *testing.T) {
	text := `channels:
  telegram:
    mod: poll
    mode: push
    keep_for: 1s
    upload: 3
    retries: x
    alow: [1]
    level: low
    token_file: /no/such
`
	path := write(t, text)
	cfg, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	telegram := cfg.Channels[0]
	got := lines(telegram.Decode(&section{}), path)
	const keys = "token, token_file, api_base, mode, public_url, upload, keep_for, retries, names, level, type, enabled, allow, pairing, group, groups, group_context, stream, rate, proxy"
	want := []string{
		"3:5: channels.telegram.mod: unknown key; did you mean mode? accepted: " + keys,
		"3:5: channels.telegram.token: is required",
		`4:11: channels.telegram.mode: want one of poll, webhook, got the text "push"`,
		`5:15: channels.telegram.keep_for: want at least 1m, got the text "1s"`,
		"6:13: channels.telegram.upload: want a section with keys (max_parts), got a whole number",
		`7:14: channels.telegram.retries: want a whole number, got the text "x"`,
		"8:5: channels.telegram.alow: unknown key; did you mean allow? accepted: " + keys,
		"9:12: channels.telegram.level: want high, got the text \"low\"",
		"10:17: channels.telegram.token_file: the secret cannot be read: no such file or directory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for key, place := range map[string]string{
		"mode": ":4:11: channels.telegram.mode: is odd", "public_url": ":3:5: channels.telegram.public_url: is odd", "": ":3:5: channels.telegram: is odd",
	} {
		if got := telegram.Errorf(key, "is %s", "odd").Error(); got != path+place {
			t.Errorf("Errorf(%q) = %q", key, got)
		}
	}
	if err := telegram.Decode(section{}); err == nil || errors.As(err, new(*config.Error)) {
		t.Errorf("Decode into a value: %v", err)
	}
}

func TestMCPForms(t *testing.T) {
	table := load(t, "tools: {mcp_servers: {b: {url: 'http://x', headers: {Authorization: 'Bearer ${K}'}}, a: {command: npx, args: [-y, 5], env: {A: '1'}, enabled: false}}}", env{"K": "key"})
	list := load(t, "tools: {mcpServers: [{name: b, url: 'http://x', headers: {Authorization: 'Bearer ${K}'}}, {name: a, command: npx, args: [-y, 5], env: {A: '1'}, enabled: false}]}", env{"K": "key"})
	want := config.MCPServers{
		{Name: "a", Command: "npx", Args: []string{"-y", "5"}, Env: map[string]chat.Secret{"A": "1"}},
		{Name: "b", URL: "http://x", Headers: map[string]chat.Secret{"Authorization": "Bearer key"}, Enabled: true},
	}
	if diff := cmp.Diff(want, table.Tools.MCPServers); diff != "" {
		t.Errorf("names with sections (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, list.Tools.MCPServers); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestSecretsStayOut(t *testing.T) {
	const secret = "hunter2-hunter2"
	e := env{"S": secret}
	path := write(t, `
bus: {url: 'nats://me:${S}@x:1', sync: '${S}'}
web: {listen: '${S}', token: '${S}', token_file: '${S}'}
tools: {exec: {allow_patterns: ['(${S}']}, enabled: ['${S}.']}
agent: {max_turns: '${S}', busy: '${S}', system_prompt_file: '${S}'}
timezone: '${S}'
security: {rate_limit: {per_sender: '${S}'}, admins: ['${S}']}
channels: {telegram: {token: '${S}', rate: '${S}', mode: '${S}', keep_for: '${S}'}}
`)
	cfg, err := config.Load(path, e.look)
	if err == nil {
		t.Fatal("want problems")
	}
	if err := errors.Join(err, cfg.Channels[0].Decode(&section{})); strings.Contains(err.Error(), secret) {
		t.Errorf("a secret stands in: %v", err)
	}
	if os.Getenv("S") != "" {
		t.Error("Load must not touch the process environment")
	}
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if s := fmt.Sprintf(format, load(t, "web: {token: '${S}'}", e).Web); strings.Contains(s, secret) {
			t.Errorf("%s shows the token", format)
		}
	}
}
