package main

import "strings"

// platform is what init asks about one.
type platform struct {
	name, chinese string
	where         words
	keys          []question
}

// words are the same text in both languages.
type words struct{ english, chinese string }

// question asks for a key of a section.
type question struct {
	key  string
	text words
}

func platforms() []platform {
	return []platform{
		{"telegram", "Telegram", words{
			"@BotFather on Telegram gives the token (/newbot), in the form 123456:ABC-def.",
			"在 Telegram 里找 @BotFather，用 /newbot 取得 token，形如 123456:ABC-def。",
		}, []question{{"token", words{"Token", "Token"}}}},
		{"discord", "Discord", words{
			"https://discord.com/developers/applications: your application, Bot, Reset Token; switch on MESSAGE CONTENT INTENT there.",
			"https://discord.com/developers/applications：你的应用 → Bot → Reset Token；同一页打开 MESSAGE CONTENT INTENT。",
		}, []question{{"token", words{"Token of the bot", "机器人 Token"}}}},
		{"feishu", "飞书", words{
			"https://open.feishu.cn/app: your app, Credentials & Basic Info. For Lark add --key api_base=https://open.larksuite.com.",
			"https://open.feishu.cn/app：你的应用 → 凭证与基础信息。Lark 请加 --key api_base=https://open.larksuite.com。",
		}, []question{{"app_id", words{"App ID (cli_…)", "App ID（cli_…）"}}, {"app_secret", words{"App Secret", "App Secret"}}}},
		{"dingtalk", "钉钉", words{
			"https://open-dev.dingtalk.com: your application, Credentials and basic information.",
			"https://open-dev.dingtalk.com：你的应用 → 凭证与基础信息。",
		}, []question{{"client_id", words{"Client ID (AppKey)", "Client ID（AppKey）"}}, {"client_secret", words{"Client Secret (AppSecret)", "Client Secret（AppSecret）"}}}},
		{"qq", "QQ", words{
			"https://q.qq.com: 开发 → 开发设置 (development settings) shows AppID and, once, AppSecret.",
			"https://q.qq.com：开发 → 开发设置，AppSecret 只显示一次。",
		}, []question{{"app_id", words{"AppID (digits)", "AppID（数字）"}}, {"app_secret", words{"AppSecret", "AppSecret"}}}},
	}
}

func platformNamed(name string) (platform, bool) {
	for _, p := range platforms() {
		if p.name == name || p.chinese == name {
			return p, true
		}
	}
	return platform{}, false
}

func platformNames() string {
	var all []string
	for _, p := range platforms() {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

// speaksChinese says which language the person's system is set to.
func (p *program) speaksChinese() bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value, _ := p.env(name); value != "" {
			return strings.HasPrefix(strings.ToLower(value), "zh")
		}
	}
	return false
}
