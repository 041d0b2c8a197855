package connect

import (
	"cmp"
	"strings"

	"magpie/channels/feishu"
	"magpie/internal/setup"
)

// MenuKeys are the commands that are of use in a menu: Feishu's entries carry
// them as event keys.
func MenuKeys() []string { return []string{"help", "new", "stop", "context"} }

// Next is what is to be done on the platform's own pages besides giving the
// keys, with what can be pasted there. values are the keys of the section.
func Next(platform string, values map[string]string) setup.Words {
	switch platform {
	case "telegram":
		return setup.Words{
			English: "In groups it sees what mentions it: for all messages (group_context, group: open) write /setprivacy to\n" +
				"https://t.me/BotFather, choose the bot, Disable, and add it to the group after that. Its own link, https://t.me/<bot>, follows when the token is checked.",
			Chinese: "在群里它只能看到 @ 它的消息；要读到全部消息（group_context、group: open），请给 https://t.me/BotFather\n" +
				"发 /setprivacy，选择机器人，Disable，然后再把它加进群。检查 Token 之后会给出它的链接 https://t.me/<bot>。",
		}
	case "discord":
		return setup.Words{
			English: "The link that adds it to your server, with the permissions that it uses, follows when the token is checked.",
			Chinese: "检查 Token 之后会给出邀请链接：用它把机器人加进服务器，所需权限都已选好。",
		}
	case "feishu":
		return feishuSteps(values)
	case "dingtalk":
		return setup.Words{
			English: "On https://open-dev.dingtalk.com, your application: Robot with message receiving mode Stream (Stream 模式); Permissions\n" +
				"(权限管理): 企业内机器人发送消息权限 (qyapi_robot_sendmsg), qyapi_base, with cards Card.Instance.Write and\n" +
				"Card.Streaming.Write; then publish a version (版本管理与发布). The check names what is missing.",
			Chinese: "在 https://open-dev.dingtalk.com 你的应用里：机器人的消息接收模式选 Stream 模式；权限管理：企业内机器人发送消息权限\n" +
				"（qyapi_robot_sendmsg）、qyapi_base，用卡片还要 Card.Instance.Write 和 Card.Streaming.Write；\n" +
				"然后在“版本管理与发布”发布。检查会说明还缺什么。",
		}
	case "qq":
		return setup.Words{
			English: "Leave IP 白名单 empty, and enter yourself under 沙箱配置 in the first week. In a group its owner has two switches for\n" +
				"the bot: 接收所有消息 (it reads all messages), 主动发言 (reminders, late answers).",
			Chinese: "“IP 白名单”留空；第一周在“沙箱配置”里加上自己。群主在机器人设置里有两个开关：\n" +
				"“接收所有消息”（读到全部消息）、“主动发言”（提醒和较晚的回答）。",
		}
	}
	return setup.Words{}
}

// feishuSteps are the steps in the developer console, in its order.
func feishuSteps(values map[string]string) setup.Words {
	page := strings.TrimRight(cmp.Or(values["api_base"], feishu.PublicBase), "/") + "/app"
	if id := values["app_id"]; strings.HasPrefix(id, "cli_") {
		page += "/" + id
	}
	events, press := strings.Join(feishu.Events(), "\n     "), strings.Join(feishu.Callbacks(), ", ")
	keys := strings.Join(MenuKeys(), ", ")
	return setup.Words{
		English: "In the developer console, " + page + ":\n" +
			"1. Permissions & Scopes (权限管理), Batch import/export scopes (批量导入/导出权限): paste this over what stands there, apply:\n" +
			feishu.Import() + "\n" +
			"2. Version Management & Release (版本管理与发布): create a version and publish it; before that nothing works.\n" +
			"3. Once the bot runs: Events & Callbacks (事件与回调), long connection (长连接) for events and for callbacks. Callback: " + press + ". Events:\n" +
			"     " + events + "\n" +
			"4. If you like a menu: Bot, Custom menu (机器人自定义菜单), action Push event, event keys " + keys + ".\n" +
			"5. Publish again.",
		Chinese: "在开发者后台 " + page + "：\n" +
			"1. 权限管理 → 批量导入/导出权限：用下面的内容覆盖原有内容并申请开通：\n" +
			feishu.Import() + "\n" +
			"2. 版本管理与发布：创建版本并发布；发布之前什么都不能用。\n" +
			"3. 机器人运行之后：事件与回调，事件和回调都选“使用长连接接收”。回调：" + press + "。事件：\n" +
			"     " + events + "\n" +
			"4. 需要菜单的话：机器人 → 机器人自定义菜单，响应动作选“推送事件”，事件 key 填 " + keys + "。\n" +
			"5. 再发布一次。",
	}
}
