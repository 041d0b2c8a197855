package config

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"magpie/internal/paste"
)

var (
	wideIndent = regexp.MustCompile(`^[ \t]*([^\x00-\x7f])[ \t\x{3000}\x{a0}\x{2000}-\x{200b}\x{202f}]*(- )?["']?[A-Za-z_][\w-]*["']?\s*[:：]`)
	wideColon  = regexp.MustCompile(`[A-Za-z_][\w-]*["']?\s*(：)`)
)

// indented refuses blanks before a key that are none for YAML, which takes them
// for a part of its name.
func indented(data []byte, r *report) (ok bool) {
	ok = true
	for number, line := range strings.Split(string(data), "\n") {
		m := wideIndent.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		if blank := []rune(line[m[2]:m[3]])[0]; unicode.IsSpace(blank) || blank == 0x200b {
			r.add(&node{line: number + 1, column: m[2] + 1}, "", "a full-width or no-break blank (U+%04X) indents the line: YAML wants plain spaces", blank)
			ok = false
		}
	}
	return ok
}

// colons reports every key with a full-width colon behind it: to YAML it is
// text. It is asked about a file that cannot be read.
func colons(data []byte, r *report) (found bool) {
	for number, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, " #")
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if m := wideColon.FindStringSubmatchIndex(line); m != nil {
			column := len([]rune(line[:m[2]])) + 1
			r.add(&node{line: number + 1, column: column}, "", "the colon ： is full-width: write : and a blank behind it")
			found = true
		}
	}
	return found
}

var tight = regexp.MustCompile(`^[A-Za-z_][\w-]*:[^\s/]`)

// noColon says why a text stands where keys were meant.
func noColon(n *node) string {
	switch {
	case n.kind != text:
	case wideColon.MatchString(n.text):
		return ": the colon ： is full-width, write : and a blank behind it"
	case tight.MatchString(n.text):
		return ": write a blank behind the colon"
	}
	return ""
}

// wide names the first character of a text that comes of another keyboard; a
// variable's value is not looked at.
func wide(n *node) string {
	if n.kind != text || strings.Contains(n.text, "${") {
		return ""
	}
	for _, r := range n.text {
		switch plain := paste.Plain(r); {
		case plain == r:
		case r >= 0xff00:
			return fmt.Sprintf(", with the full-width %c for %c", r, plain)
		default:
			return fmt.Sprintf(", with the typographic %c for %c", r, plain)
		}
	}
	return ""
}

// ProviderHint says how a model of a vendor is reached that is no provider of
// its own: most servers speak OpenAI's chat completions. It goes on from what is
// wrong; "" is nothing.
func ProviderHint(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "claude" {
		return "; Claude is provider: anthropic"
	}
	for _, v := range []struct{ names, base string }{
		{"gpt chatgpt openai-compatible openai_compatible compatible azure", "the server's address"},
		{"gemini google google-gemini vertex", "https://generativelanguage.googleapis.com/v1beta/openai"},
		{"deepseek", "https://api.deepseek.com/v1"},
		{"qwen tongyi dashscope aliyun bailian alibaba 通义 通义千问 千问 百炼 阿里云", "https://dashscope.aliyuncs.com/compatible-mode/v1"},
		{"kimi moonshot 月之暗面", "https://api.moonshot.cn/v1"},
		{"glm zhipu zhipuai chatglm bigmodel 智谱", "https://open.bigmodel.cn/api/paas/v4"},
		{"doubao ark volcengine volces 豆包 火山", "https://ark.cn-beijing.volces.com/api/v3"},
		{"hunyuan tencent 混元 腾讯", "https://api.hunyuan.cloud.tencent.com/v1"},
		{"siliconflow 硅基流动", "https://api.siliconflow.cn/v1"},
		{"minimax", "https://api.minimaxi.com/v1"},
		{"openrouter", "https://openrouter.ai/api/v1"},
		{"groq", "https://api.groq.com/openai/v1"},
		{"mistral", "https://api.mistral.ai/v1"},
		{"xai grok x.ai", "https://api.x.ai/v1"},
		{"together togetherai", "https://api.together.xyz/v1"},
		{"ollama llama", "http://127.0.0.1:11434/v1"},
		{"lmstudio lm-studio lm_studio", "http://127.0.0.1:1234/v1"},
		{"vllm llamacpp llama.cpp llama-cpp localai", "http://127.0.0.1:8000/v1"},
	} {
		for one := range strings.FieldsSeq(v.names) {
			if one == name {
				return fmt.Sprintf("; it speaks OpenAI's API: write provider: openai and base_url: %s", v.base)
			}
		}
	}
	return ""
}

// NearestType is the type of channel that was probably meant, or "".
func NearestType(said string, types []string) string {
	for _, alias := range []struct{ names, is string }{
		{"tg tele 电报", "telegram"}, {"lark 飞书 feishu_bot", "feishu"}, {"dingding ding 钉钉", "dingtalk"}, {"qqbot qq_bot qq机器人", "qq"}, {"dc", "discord"},
	} {
		for one := range strings.FieldsSeq(alias.names) {
			if one == strings.ToLower(said) {
				return alias.is
			}
		}
	}
	if near := nearest(said, types); len(said) > 3 { // qq is near to everything
		return near
	}
	return ""
}
