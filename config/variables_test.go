package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/config"
)

// What is wrong with a value that came out of variables is said with their
// names and what they hold, and without what that is.
func TestProblemsOfVariables(t *testing.T) {
	const secret = "hunter2 hunter2"
	long := strings.Repeat("abcdefghij", 6)
	e := env{
		"WORD": secret, "LONG": long, "NUMBER": "5", "FRACTION": "0.5", "TRUTH": "true", "EMPTY": "", "BLANK": " \t",
		"QUOTED": `"80"`, "SINGLE": "'80'", "RETURN": "80x\r", "LINES": "a\nb",
	}
	for _, c := range []struct{ name, text, want string }{
		{"text", "agent: {max_turns: '${WORD}'}", `agent.max_turns: want a whole number, got "${WORD}"; the variable WORD holds a text`},
		{"truth", "agent: {max_turns: '${TRUTH}'}", `agent.max_turns: want a whole number, got "${TRUTH}"; the variable TRUTH holds true or false`},
		{"fraction", "agent: {max_turns: '${FRACTION}'}", `agent.max_turns: want a whole number, got "${FRACTION}"; the variable FRACTION holds a number`},
		{"no unit", "agent: {debounce: '${NUMBER}'}", `agent.debounce: want a duration such as 30s or 10m, got "${NUMBER}"; the variable NUMBER holds a whole number`},
		{"quotes", "agent: {max_turns: '${QUOTED}'}", `agent.max_turns: want a whole number, got "${QUOTED}"; the variable QUOTED holds a text in quotes`},
		{"single quotes", "agent: {max_turns: '${SINGLE}'}", `agent.max_turns: want a whole number, got "${SINGLE}"; the variable SINGLE holds a text in quotes`},
		{"a line end", "agent: {max_turns: '${RETURN}'}", `agent.max_turns: want a whole number, got "${RETURN}"; the variable RETURN holds a text with blanks around it`},
		{"lines", "agent: {max_turns: '${LINES}'}", `agent.max_turns: want a whole number, got "${LINES}"; the variable LINES holds several lines`},
		{"a default that is wrong", "agent: {max_turns: '${UNSET:-ten}'}", `agent.max_turns: want a whole number, got "${UNSET:-ten}"; the variable UNSET is not set`},
		{"choice", "agent: {busy: '${WORD}'}", `agent.busy: want one of steer, queue, collect, interrupt, got "${WORD}"; the variable WORD holds a text`},
		{"bound", "agent: {max_turns: '1${NUMBER}0000'}", `agent.max_turns: want at most 10000, got "1${NUMBER}0000"; the variable NUMBER holds a whole number`},
		{"own type", "security: {rate_limit: {per_sender: '${LONG}'}}", `security.rate_limit.per_sender: want a rate such as 20/1m or 5/s, got "${LONG}"; the variable LONG holds a text`},
		{"list", "security: {admins: '${WORD}'}", "security.admins: want a list such as [a, b], got text; the variable WORD holds a text"},
		{"combination", "bus: {url: 'nats://${WORD}:${EMPTY:-x}@ ${WORD}'}", "bus.url: want nats://host:port, several with commas between them; the variable WORD holds a text, the variable EMPTY is empty"},
		{"required", "web: {listen: 0.0.0.0:80, token: '${UNSET:-}'}", "web.token: is required because web.listen can be reached from other machines; the variable UNSET is not set"},
		{"blank", "web: {listen: '${BLANK}'}", `web.listen: want host:port such as 127.0.0.1:18990, got "${BLANK}"; the variable BLANK is empty`},
		{"said once", "web: {token: '${UNSET}'}", "web.token: the variable UNSET is not set: set it, or write ${UNSET:-default}"},
		{"a plain ${", "timezone: '$${WORD}'", `timezone: want an IANA name such as Europe/Berlin or Asia/Shanghai, or "", got "$${WORD}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := problems(t, c.text, e)
			if len(got) != 1 {
				t.Fatalf("want one problem, got %q", got)
			}
			_, text, _ := strings.Cut(got[0], ": ")
			if diff := cmp.Diff(c.want, text); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
			if strings.Contains(got[0], "hunter2") || strings.Contains(got[0], long[:10]) {
				t.Errorf("a secret is shown: %s", got[0])
			}
		})
	}
}

// An adapter's own message may quote what it was given.
func TestProblemsOfVariablesInChannels(t *testing.T) {
	path := write(t, "channels: {telegram: {mode: '${MODE}', token: '${TOKEN:-}', api_base: 'http://${HOST}/x'}}")
	cfg, err := config.Load(path, env{"MODE": "s3cr3t", "HOST": "hunter2-hunter2"}.look)
	if err != nil {
		t.Fatal(err)
	}
	for key, c := range map[string]struct{ said, want string }{
		"mode":     {`"s3cr3t" is not known`, `1:29: channels.telegram.mode: "${MODE}" is not known; the variable MODE holds a text`},
		"token":    {"missing", "1:47: channels.telegram.token: missing; the variable TOKEN is not set"},
		"api_base": {"no such host: hunter2-hunter2", "1:71: channels.telegram.api_base: no such host: ${HOST}; the variable HOST holds a text"},
		"":         {"odd", "1:23: channels.telegram: odd"},
	} {
		got := lines(cfg.Channels[0].Errorf(key, "%s", c.said), path)
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", key, diff)
		}
	}
}
