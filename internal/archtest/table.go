package archtest

// row says what a package may import. Patterns: "a/b" is that package, "a/*"
// those right below, "a/..." it and all below. The most exact row counts.
type row struct {
	of   string
	ours []string // of this module; everything else is refused
}

// platform is the row of a channel adapter.
func platform(name string) row {
	return row{"channels/" + name, []string{"chat", "channels", "channels/rest", "channels/lanes", "channels/render", "internal/kv", "internal/paste"}}
}

// table says who may import whom. Adding a channel is one line here and, when
// it has an SDK, one in owners.
func table() []row {
	all := alone("channels/lanes", "internal/archtest", "internal/backup", "internal/dockertest", "internal/fakes/driver", "internal/fold", "internal/front", "internal/kv", "internal/lineedit", "internal/links", "internal/near", "internal/need", "internal/paste", "internal/portlock", "internal/rights")
	all = append(all, channelRows()...)
	all = append(all, agentRows()...)
	return append(all, programRows()...)
}

// channelRows are those of messages, the configuration, the bus and the platforms.
func channelRows() []row {
	return []row{
		{"chat", nil},
		{"config", []string{"chat", "internal/front", "internal/near", "internal/paste", "internal/proxy", "internal/rights", "internal/zone"}},
		{"internal/zone", []string{"internal/near", "internal/paste"}},
		{"internal/proxy", []string{"internal/paste"}},
		{"internal/kv/kvtest", []string{"internal/kv"}},
		{"bus/...", []string{"bus", "chat", "internal/kv"}},

		{"channels", []string{"chat", "internal/kv"}},
		{"channels/rest", []string{"chat", "channels", "internal/proxy"}},
		{"channels/render", []string{"internal/links"}},
		{"channels/dispatch", []string{"chat", "channels", "channels/render", "media", "internal/kv"}},
		{"channels/access", []string{"chat", "channels", "channels/render", "media", "internal/kv"}},
		{"channels/room", []string{"chat", "internal/kv"}},
		{"channels/channeltest", []string{"chat", "channels", "channels/render", "internal/fakes/driver", "internal/kv"}},
		{"channels/all", []string{"channels", "channels/*"}},
		platform("telegram"), platform("web"),
		platform("discord"),
		platform("feishu"),
		platform("dingtalk"),
		platform("qq"),
	}
}

// agentRows are those of what answers: models, tools, reminders.
func agentRows() []row {
	return []row{
		{"agent/llm", nil},
		{"agent/llm/...", []string{"chat", "agent/llm", "agent/llm/internal/...", "internal/proxy"}},
		{"agent/llm/offline", []string{"chat", "agent/llm", "cron/intent"}},
		{"agent/llm/llmtest", []string{"chat", "agent/llm", "agent/llm/...", "internal/fakes/..."}},
		{"agent/session", []string{"chat", "agent/llm", "internal/kv"}},
		{"agent/memory", []string{"chat", "internal/fold", "internal/kv"}},
		{"agent", []string{"chat", "agent/...", "channels/render", "tools", "internal/kv", "internal/links", "internal/near"}}, // what it writes is CommonMark
		{"agent/egress", []string{"internal/links"}},
		{"agent/...", []string{"chat", "agent/...", "tools", "internal/kv", "internal/near", "cron/when"}},
		{"subagent", []string{"chat", "agent/...", "tools"}},

		{"tools", []string{"chat", "internal/kv", "internal/near"}},
		{"tools/...", []string{"chat", "tools", "media", "cron", "cron/desk", "agent/memory", "internal/kv", "internal/proxy"}},
		{"tools/fs/...", []string{"chat", "tools", "tools/fs/...", "media", "internal/fold", "internal/kv"}},
		{"tools/shell/...", []string{"chat", "tools", "tools/shell/..."}},
		{"tools/shell", []string{"chat", "tools", "tools/egress", "tools/fs/...", "tools/shell/...", "tools/web/guard"}},
		{"tools/say", []string{"chat", "tools", "tools/fs/...", "media", "internal/kv"}},
		{"tools/web/...", []string{"chat", "tools", "tools/web/...", "tools/shell/sandbox", "internal/proxy"}},
		{"tools/egress", []string{"chat", "tools", "tools/web/guard", "internal/proxy"}},
		{"tools/mcp", []string{"chat", "tools", "tools/egress", "tools/shell/sandbox", "tools/web/guard", "media", "internal/proxy"}},
		{"tools/screenshot", []string{"chat", "tools", "tools/shell/sandbox", "tools/web/guard", "tools/fs/fence", "media"}},
		{"tools/tooltest", []string{"chat", "tools", "internal/kv"}},
		{"tools/remind", []string{"chat", "tools", "cron", "cron/desk", "cron/intent", "cron/when", "internal/kv"}},
		{"tools/all", []string{"chat", "tools", "tools/...", "media", "cron", "cron/desk", "agent/memory", "internal/kv"}},

		{"cron/...", []string{"chat", "internal/kv", "internal/near", "cron", "cron/calendar", "cron/grammar", "cron/intent", "cron/when"}},
		{"cron/calendar", nil},
		{"cron/grammar", nil},
		{"cron/when", []string{"internal/near", "cron/calendar", "cron/grammar"}},
		{"cron/intent", []string{"internal/near", "cron/calendar", "cron/grammar", "cron/when"}},
		{"media/...", []string{"chat", "media", "internal/kv", "internal/proxy"}},
	}
}

// programRows are those of the program around them and of its tests.
func programRows() []row {
	return []row{
		{"internal/console", []string{"chat", "channels", "internal/front", "internal/kv"}},
		{"internal/connect", []string{"channels/dingtalk", "channels/feishu", "internal/proxy", "internal/setup"}},
		{"internal/setup", []string{"config", "internal/paste", "internal/zone"}},
		{"internal/termchat", []string{"chat", "internal/lineedit"}},
		{"internal/fakes/...", []string{"internal/fakes/...", "internal/need"}},
		{"internal/pagetest", []string{"internal/need"}},
		{"internal/screentest", []string{"internal/need"}},
		{"internal/simulate", []string{"internal/fakes/..."}},
		{"internal/app", []string{"..."}},
		{"cmd/bot", []string{
			"chat", "config", "channels", "channels/all", "internal/app", "internal/backup", "internal/connect", "internal/console", "internal/fakes/...", "internal/kv", "internal/lineedit", "internal/rights", "internal/setup", "internal/simulate", "internal/termchat", "tools", "tools/mcp", "tools/shell/sandbox", "tools/web/pdftext",
		}},
	}
}

// alone are packages that import none of ours.
func alone(names ...string) (all []row) {
	for _, name := range names {
		all = append(all, row{name, nil})
	}
	return all
}

// forTests are the packages of this module that every test may use besides
// its package's row.
func forTests() []string {
	return []string{
		"agent/llm/llmtest", "agent/llm/openai", "bus/bustest", "channels", "channels/channeltest", "channels/render", "channels/web",
		"internal/fakes/...", "internal/kv", "internal/kv/kvtest", "internal/need", "internal/pagetest", "internal/portlock", "internal/screentest", "tools/tooltest",
	}
}

// only says who may import a package at all, besides tests of the same tree.
func only() map[string][]string {
	return map[string][]string{
		"internal/app": {"cmd/bot"},
		"config":       {"cmd/bot", "internal/app", "internal/setup"},
		"bus":          {"bus/...", "internal/app"},
	}
}

// owner says who may import an outside module. anywhere is for small ones
// that only add to the standard library.
type owner struct {
	module string
	by     []string
	tests  []string // whose tests may use it besides
}

var anywhere = []string{"..."}

func owners() []owner {
	return append(platformOwners(), commonOwners()...)
}

// platformOwners are those of the modules that speak with other programs: the
// bus, the platforms, the models.
func platformOwners() []owner {
	return []owner{
		{"github.com/goccy/go-yaml", []string{"config", "channels/channeltest"}, []string{"internal/app"}},
		{"github.com/nats-io/nats.go", []string{"bus/..."}, nil},
		{"github.com/nats-io/nats-server/v2", []string{"bus/..."}, []string{"internal/app"}},
		{"github.com/nats-io/nkeys", []string{"bus/..."}, nil},
		{"github.com/minio/highwayhash", []string{"bus"}, nil},
		{"github.com/klauspost/compress", []string{"bus"}, nil}, // S2, the compression of the server's snapshots
		{"github.com/go-co-op/gocron/v2", []string{"cron"}, nil},
		{"github.com/google/jsonschema-go", []string{"tools", "tools/tooltest"}, []string{"config", "tools/...", "internal/app"}},
		{"github.com/google/uuid", []string{"cron"}, nil}, // gocron's ids
		{"github.com/teambition/rrule-go", []string{"cron/calendar"}, nil},
		{"github.com/6tail/lunar-go", nil, []string{"cron/calendar"}},
		{"github.com/emersion/go-ical", []string{"cron/ics"}, nil},
		{"github.com/jonboulle/clockwork", []string{"cron"}, []string{"internal/app"}},
		{"github.com/modelcontextprotocol/go-sdk", []string{"tools/mcp"}, nil},

		{"github.com/go-telegram-bot-api/telegram-bot-api/v5", []string{"channels/telegram"}, []string{"internal/fakes/..."}},
		{"github.com/bwmarrin/discordgo", []string{"channels/discord"}, []string{"internal/fakes/..."}},
		{"google.golang.org/protobuf", []string{"channels/feishu"}, nil},
		{"github.com/larksuite/oapi-sdk-go/v3", []string{"channels/feishu"}, []string{"internal/fakes/..."}},
		{"github.com/open-dingtalk/dingtalk-stream-sdk-go", []string{"channels/dingtalk"}, []string{"internal/fakes/..."}},
		{"github.com/tencent-connect/botgo", []string{"channels/qq"}, []string{"internal/fakes/..."}},
		{"github.com/coder/websocket", []string{"channels/*", "internal/fakes/..."}, nil},
		{"github.com/aliyun/aliyun-oss-go-sdk", []string{"media/oss"}, []string{"internal/fakes/..."}},
		{"github.com/sashabaranov/go-openai", []string{"agent/llm/openai"}, nil},
		{"github.com/anthropics/anthropic-sdk-go", []string{"agent/llm/anthropic"}, nil},
	}
}

// commonOwners are those of the modules for tools, texts and the machine.
func commonOwners() []owner {
	return []owner{
		{"github.com/bmatcuk/doublestar/v4", []string{"tools/fs"}, nil},
		{"github.com/aymanbagabas/go-udiff", []string{"tools/fs"}, []string{"tools/fs/..."}},
		{"github.com/yuin/goldmark", []string{"channels/render", "channels/web", "internal/console"}, nil},
		{"github.com/rivo/uniseg", []string{"channels/render", "internal/lineedit", "internal/termchat"}, nil},
		{"github.com/charmbracelet/x/vt", []string{"internal/screentest"}, nil},        // the terminal of tests
		{"github.com/charmbracelet/ultraviolet", []string{"internal/screentest"}, nil}, // its cells
		{"github.com/gabriel-vasile/mimetype", []string{"media", "channels/*", "tools/..."}, nil},
		{"github.com/prometheus/client_golang", []string{"internal/app", "internal/console"}, nil},
		{"github.com/prometheus/common", []string{"internal/app"}, nil},
		{"github.com/spf13/cobra", []string{"cmd/bot"}, nil},
		{"github.com/lmittmann/tint", []string{"cmd/bot"}, nil},
		{"code.dny.dev/ssrf", []string{"tools/web/guard"}, nil},
		{"codeberg.org/readeck/go-readability", []string{"tools/web/page"}, nil},
		{"github.com/JohannesKaufmann/html-to-markdown/v2", []string{"tools/web/page"}, nil},
		{"github.com/ledongthuc/pdf", []string{"tools/web/pdftext"}, nil},
		{"github.com/chromedp/chromedp", []string{"internal/pagetest"}, anywhere},
		{"github.com/chromedp/cdproto", []string{"internal/pagetest"}, anywhere},
		{"rsc.io/qr", []string{"cmd/bot"}, nil},
		{"mvdan.cc/sh/v3", []string{"tools/shell/..."}, nil},
		{"github.com/landlock-lsm/go-landlock", []string{"tools/shell/..."}, nil},
		{"golang.org/x/sys", []string{"tools/shell/...", "internal/app", "internal/lineedit", "internal/need", "internal/screentest"}, anywhere},
		{"golang.org/x/image", []string{"agent/...", "media", "channels/*"}, anywhere},
		{"golang.org/x/net", []string{"tools/web/...", "internal/front", "internal/proxy"}, []string{"tools/shell/sandbox"}}, // its interpreter of filters,
		{"golang.org/x/term", []string{"cmd/bot", "internal/lineedit", "internal/termchat"}, nil},
		{"golang.org/x/sync", anywhere, nil},
		{"golang.org/x/text", anywhere, nil},
		{"golang.org/x/time", anywhere, nil},
		{"github.com/oklog/ulid/v2", anywhere, nil},

		// The suites are test code although they stand in ordinary files.
		{"github.com/google/go-cmp", []string{"internal/kv/kvtest", "channels/channeltest", "tools/tooltest", "agent/llm/llmtest", "bus/bustest"}, anywhere},
		{"go.uber.org/goleak", []string{"channels/channeltest", "tools/tooltest", "agent/llm/llmtest", "bus/bustest"}, anywhere},
		{"pgregory.net/rapid", []string{"channels/channeltest", "tools/tooltest", "agent/llm/llmtest"}, anywhere},
	}
}

// exceptions are package-level variables made by a function of the package,
// each with the reason why nothing changes them.
func exceptions() map[string]string {
	return map[string]string{
		"channels/render.markdown": "a configured parser, safe for concurrent use",
	}
}

// wide are the types that may have more fields than the limit, and why.
func wide() map[string]string {
	return map[string]string{
		"chat.Inbound":    "the one form of everything that enters a chat; a part of its own for every rare field would only hide it",
		"chat.Outbound":   "the one form of everything that leaves a chat, as Inbound is of what enters",
		"when.piece":      "what one pattern can say of a time; each says one or two of it, and a type for each would only be told apart again",
		"when.bag":        "all that was said of one time, in any order",
		"when.repeat":     "what one pattern can say of a repetition",
		"intent.Intent":   "what a message wants, plain data: each kind of wish fills the few that it needs",
		"cron.Job":        "what people decide of a job, as it is stored",
		"channels.Limits": "plain data, one value for each fact of a platform; adapters name the few they have",
	}
}

// skipping are the files with tests that leave themselves out for another reason
// than what the machine lacks.
func skipping() map[string]string {
	const script, input = "a script of deploy runs it, and says what was left out", "what a fuzzer makes up and the test is not about"
	return map[string]string{
		"internal/need/need.go":                    "this is the one",
		"channels/channeltest/rig.go":              "a platform, or its fake, has no such thing: the harness says so",
		"tools/shell/sandbox/filter_linux_test.go": "the program has no filter for that processor, and says so",
		"internal/archtest/readme_test.go":         "it builds and starts the program, only where MAGPIE_TEST_REQUIRE is set",
		"internal/app/cage_test.go":                "a container hands no control groups down, whoever is root in it; the Docker step runs the program in one",
		"internal/compose/volumes_test.go":         script,
		"internal/dockertest/rig_test.go":          script,
		"channels/render/split_test.go":            input,
		"channels/render/splitall_test.go":         input,
		"tools/web/page/page_test.go":              input,
		"tools/web/web_test.go":                    input,
	}
}
