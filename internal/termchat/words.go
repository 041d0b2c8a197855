package termchat

import "strings"

// texts are what the program itself says on a terminal.
type texts struct{ welcome, notSent, lost, again string }

// words are those of the person's language.
func words() texts {
	if strings.HasPrefix(strings.ToLower(language()), "zh") {
		return texts{
			welcome: "输入消息，按回车发送。行末的 \\ 表示下一行继续。Ctrl-C 先清空输入，再停止回答，最后离开；/quit 离开，/帮助 显示帮助。",
			notSent: "没有发出：",
			lost:    "（连接断开，正在重试……）",
			again:   "（已重新连接）",
		}
	}
	return texts{
		welcome: "Type a message. A line that ends in \\ goes on. Ctrl-C clears what is typed, then stops the answer, then leaves; /quit leaves, /help helps.",
		notSent: "not sent: ",
		lost:    "(the connection is gone, trying again…)",
		again:   "(connected again)",
	}
}
