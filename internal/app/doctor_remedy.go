package app

import (
	"cmp"
	"os"

	"magpie/agent/llm"
	"magpie/channels"
	"magpie/config"
	"magpie/internal/proxy"
	"magpie/internal/setup"
)

// remedied is an error with what to do about it in both languages: init shows
// it to people on their first evening.
type remedied struct {
	error
	todo setup.Words
}

func (r *remedied) Advice() string { return r.todo.English }
func (r *remedied) Unwrap() error  { return r.error }

// tooOften is what to do about a service that is asked too often.
func tooOften(who string) setup.Words {
	return setup.Words{
		English: "the " + who + " is asked too often; try again in some minutes",
		Chinese: "请求太频繁，过几分钟再试",
	}
}

func channelTodo(c config.Channel, kind channels.Kind) setup.Words {
	section := "channels." + c.Name
	switch kind {
	case channels.Unauthorized:
		return setup.Words{
			English: "correct the credentials in " + section + "; the platform's console shows them, or makes new ones",
			Chinese: "平台不接受这组密钥：到平台后台重新复制，或重新生成，再改正 " + section,
		}
	case channels.RateLimited:
		return tooOften("platform")
	case channels.Rejected:
		return setup.Words{
			English: "the platform refuses the bot: look at the text, and at its permissions in the platform's console",
			Chinese: "平台拒绝了机器人：看上面的说明，并检查它在平台后台的权限",
		}
	}
	out := wayOut(setup.Words{English: section + ".proxy", Chinese: section + ".proxy"}, c.Proxy)
	return setup.Words{
		English: "check that this machine reaches the platform, and api_base and the like in " + section + out.English,
		Chinese: "没有连上平台：检查本机的网络，以及 " + section + " 里的 api_base 等地址" + out.Chinese,
	}
}

func modelTodo(m config.Model, kind llm.Kind) setup.Words {
	key, chinese := "of "+m.Name+" in llm.models", "llm.models 里 "+m.Name+" 的 "
	switch kind {
	case llm.Unauthorized:
		return setup.Words{
			English: "correct api_key " + key + ", or charge the account",
			Chinese: "改正 " + chinese + "api_key，或给账户充值",
		}
	case llm.RateLimited:
		return tooOften("server")
	case llm.Rejected:
		return setup.Words{
			English: "check model and base_url " + key,
			Chinese: "检查 " + chinese + "model 和 base_url",
		}
	}
	out := wayOut(setup.Words{English: "proxy " + key, Chinese: chinese + "proxy"}, m.Proxy)
	return setup.Words{
		English: "check that this machine reaches base_url " + key + ", and that the address is right" + out.English,
		Chinese: "没有连上模型服务：检查本机的网络，以及 " + chinese + "base_url 是否正确" + out.Chinese,
	}
}

// wayOut says by which proxy calls leave this machine, or how they could: that
// of a key, or of the environment. A name and a password in its address are not
// shown.
func wayOut(key setup.Words, value string) setup.Words {
	if proxy.None(value) {
		return setup.Words{
			English: "; calls go without a proxy, as " + key.English + " says",
			Chinese: "；按 " + key.Chinese + " 的设置，没有使用代理",
		}
	}
	where := key
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if value == "" {
			where, value = setup.Words{English: name, Chinese: "环境变量 " + name}, os.Getenv(name)
		}
	}
	if value == "" {
		return setup.Words{
			English: "; where only a proxy leads out, set HTTPS_PROXY or " + key.English + ", such as http://10.0.0.1:3128",
			Chinese: "；要通过代理才能上网的，设置环境变量 HTTPS_PROXY，或 " + key.Chinese + "，例如 http://10.0.0.1:3128",
		}
	}
	host := proxy.Host(value)
	return setup.Words{
		English: "; calls go through the proxy of " + where.English + ", " + cmp.Or(host, "an address that cannot be read"),
		Chinese: "；正在使用 " + where.Chinese + " 里的代理：" + cmp.Or(host, "地址无法识别"),
	}
}
