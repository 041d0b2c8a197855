// Package setup is what making a configuration asks, tries and writes, apart
// from who asks: the terminal of `bot init` shows it today, and a page may. A
// Draft is the configuration that would be written; nothing is before Write.
package setup

import (
	"slices"
	"strings"

	"magpie/config"
	"magpie/internal/paste"
)

// Words are the same text in both languages.
type Words struct{ English, Chinese string }

// In is the text in one of the languages.
func (w Words) In(chinese bool) string {
	if chinese {
		return w.Chinese
	}
	return w.English
}

// Platform is what is asked about one.
type Platform struct {
	Name, Chinese string
	Where         Words // where its keys are to be found
	Keys          []Question
}

// Question asks for one value.
type Question struct {
	Key    string // of the section
	Text   Words
	Usual  string // what no answer stands for; of a secret it is not shown
	Secret bool
}

// Platforms are those that can be added.
func Platforms() []Platform {
	secret := func(key string, text Words) Question { return Question{Key: key, Text: text, Secret: true} }
	return []Platform{
		{"telegram", "Telegram", Words{
			"https://t.me/BotFather on Telegram gives the token (/newbot), in the form 123456:ABC-def.",
			"在 Telegram 里打开 https://t.me/BotFather，用 /newbot 取得 token，形如 123456:ABC-def。",
		}, []Question{secret("token", Words{"Token", "Token"})}},
		{"discord", "Discord", Words{
			"https://discord.com/developers/applications: your application, Bot, Reset Token; switch on MESSAGE CONTENT INTENT there.",
			"https://discord.com/developers/applications：你的应用 → Bot → Reset Token；同一页打开 MESSAGE CONTENT INTENT。",
		}, []Question{secret("token", Words{"Token of the bot", "机器人 Token"})}},
		{"feishu", "飞书", Words{
			"scan a code with Feishu or Lark to make the app, or take the keys from https://open.feishu.cn/app: your app, Credentials & Basic Info. For Lark add --key api_base=https://open.larksuite.com.",
			"用飞书（或 Lark）扫码创建应用；或从 https://open.feishu.cn/app 取凭证：你的应用 → 凭证与基础信息。Lark 请加 --key api_base=https://open.larksuite.com。",
		}, []Question{{Key: "app_id", Text: Words{"App ID (cli_…)", "App ID（cli_…）"}}, secret("app_secret", Words{"App Secret", "App Secret"})}},
		{"dingtalk", "钉钉", Words{
			"scan a code with DingTalk to make the application, or take the keys from https://open-dev.dingtalk.com: your application, Credentials and basic information.",
			"用钉钉扫码创建应用；或从 https://open-dev.dingtalk.com 取凭证：你的应用 → 凭证与基础信息。",
		}, []Question{{Key: "client_id", Text: Words{"Client ID (AppKey)", "Client ID（AppKey）"}}, secret("client_secret", Words{"Client Secret (AppSecret)", "Client Secret（AppSecret）"})}},
		{"qq", "QQ", Words{
			"scan the code on https://q.qq.com/qqbot/openclaw/index.html with QQ, 创建机器人 (make the bot) shows both keys; or https://q.qq.com: 开发 → 开发设置 (development settings) shows AppID and, once, AppSecret.",
			"打开 https://q.qq.com/qqbot/openclaw/index.html 用手机 QQ 扫码 → 创建机器人，页面给出两个密钥；或 https://q.qq.com：开发 → 开发设置，AppSecret 只显示一次。",
		}, []Question{{Key: "app_id", Text: Words{"AppID (digits)", "AppID（数字）"}}, secret("app_secret", Words{"AppSecret", "AppSecret"})}},
	}
}

// Named is the platform of a name, in English or Chinese.
func Named(name string) (Platform, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, p := range Platforms() {
		if p.Name == name || p.Chinese == name {
			return p, true
		}
	}
	return Platform{}, false
}

// Names are the names of the platforms.
func Names() (all []string) {
	for _, p := range Platforms() {
		all = append(all, p.Name)
	}
	return all
}

// Variable is the usual variable of a platform's key.
func Variable(name, key string) string {
	upper := strings.ToUpper(strings.ReplaceAll(name, "-", "_") + "_" + key)
	switch upper {
	case "TELEGRAM_TOKEN", "DISCORD_TOKEN":
		return strings.TrimSuffix(upper, "TOKEN") + "BOT_TOKEN"
	}
	if upper[0] >= '0' && upper[0] <= '9' {
		return "BOT_" + upper
	}
	return upper
}

// KeyVariable is the usual variable of a provider's key.
func KeyVariable(provider string) string { return strings.ToUpper(provider) + "_API_KEY" }

// Neat is an answer without the quotes, blanks and NAME= that are pasted with a
// key.
func Neat(variable, answer string) string {
	answer, _ = paste.Trim(variable, answer)
	return answer
}

// ModelQuestions are asked for a model of the provider.
func (d *Draft) ModelQuestions(provider string) []Question {
	base, name := config.Vendor(provider)
	return []Question{
		{Key: "base_url", Text: Words{"Address of the server", "服务地址"}, Usual: base},
		{Key: "model", Text: Words{"Model", "模型名称"}, Usual: name},
		{Key: "api_key", Text: Words{"Key (empty: the server wants none)", "密钥（服务不需要则留空）"}, Usual: d.Variable(KeyVariable(provider)), Secret: true},
	}
}

// An Action is what can be done about a trial that did not go well.
type Action string

// The actions.
const (
	Retry  Action = "retry"  // try the same again
	Change Action = "change" // other answers
	Keep   Action = "keep"   // take it although nobody knows whether it works
	Skip   Action = "skip"   // go on without it
	Stop   Action = "stop"   // write nothing
)

// Text says what an action does.
func (a Action) Text() Words {
	return map[Action]Words{
		Retry:  {"try again", "再试一次"},
		Change: {"change the answers", "修改答案"},
		Keep:   {"keep it anyway", "仍然保留"},
		Skip:   {"go on without it", "跳过"},
		Stop:   {"stop, and write nothing", "中止，不写入"},
	}[a]
}

// Chosen is the action that an answer names: its number among those offered,
// its name, the beginning of it, or its text in either language.
func Chosen(answer string, offers []Action) (Action, bool) {
	answer = strings.ToLower(strings.Trim(paste.Folded(answer), " .)[]\"'"))
	for i, a := range offers {
		names := []string{string(rune('1' + i)), string(a), string(a)[:1], a.Text().English, a.Text().Chinese}
		switch a {
		case Retry:
			names = append(names, "again", "重试", "再试")
		case Change:
			names = append(names, "back", "b", "edit", "修改", "更改", "返回")
		case Keep:
			names = append(names, "keep anyway", "保留", "继续")
		case Skip:
			names = append(names, "略过")
		case Stop:
			names = append(names, "quit", "q", "abort", "a", "exit", "中止", "退出", "停止")
		}
		// s is for skip, which loses less.
		if answer == "s" && a == Stop {
			continue
		}
		if slices.Contains(names, answer) {
			return a, true
		}
	}
	return "", false
}
