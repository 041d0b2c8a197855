package agent

import (
	"fmt"
	"strings"

	"magpie/agent/egress"
	"magpie/agent/settings"
	"magpie/chat"
)

// words is the language in which the bot speaks for itself: "zh" for Chinese,
// anything else for English.
type words string

func (w words) of(en, zh string) string {
	if w == settings.Chinese {
		return zh
	}
	return en
}

// langOf is the language of a message's sender as far as the message tells.
func langOf(d *chat.Delivery) string {
	return settings.Lang(settings.Settings{}, d.From, d.Text)
}

func (w words) noModel() string {
	return w.of("I could not reach a model just now. Your message is kept: write \"again\" to try once more.",
		"我现在连不上模型。你的消息已保留：发送“再试一次”即可重试。")
}

// jobFailed names a job by the beginning of what it says.
func (w words) jobFailed(job string) string {
	name := cleanTo(job, 2*maxName)
	return w.of("The scheduled job “"+name+"” could not be done.", "定时任务“"+name+"”没能完成。")
}

func (w words) tooLong() string {
	return w.of("This is too long for the model, also in short form. Please send it in smaller parts, or begin a new conversation with /new.",
		"内容太长，缩短后模型仍无法处理。请分成几段发送，或用 /new 开始新对话。")
}

func (w words) brokeDown() string {
	return w.of("Something went wrong inside of me while I worked on this. The error is in the log; you can write \"again\".",
		"处理这条消息时我内部出错了，错误已记入日志；你可以发送“再试一次”。")
}

func (w words) givenUp() string {
	return w.of("I am sorry: I tried several times to answer your message and never got to the end. It has been put aside for the operator; please write it in another way.",
		"抱歉：我多次尝试回答你的消息都没能完成。它已转交管理员处理；请换一种说法再发。")
}

func (w words) notBegun() string {
	return w.of("Stopped, before I began with this message.", "已停止：这条消息还没有开始处理。")
}

func (w words) empty() string {
	return w.of("The model gave no answer, twice. Please put it another way.", "模型两次都没有给出回答，请换一种说法。")
}

func (w words) noEnd(calls int) string {
	return w.of(fmt.Sprintf("After %d steps the model still wanted to go on working, and has given no answer. Please ask for a part of it, or write \"go on\".", calls),
		fmt.Sprintf("模型用完了 %d 个步骤，仍未给出回答。请把任务拆小，或发送“继续”。", calls))
}

func (w words) cutOff() string {
	return w.of("_(The answer was cut off at the model's length limit. Write \"go on\" for the rest.)_",
		"_（回答达到模型的长度上限被截断。发送“继续”可看后文。）_")
}

func (w words) noRoom() string {
	return w.of("The model used up its whole length limit before it wrote an answer. Please ask for something smaller.",
		"模型在写出回答之前就用完了长度上限，请把问题缩小一些。")
}

func (w words) filtered() string {
	return w.of("_(The model's provider refused to say more about this.)_", "_（模型服务方拒绝继续回答此内容。）_")
}

func (w words) compacting() string {
	return w.of("summarising the conversation so far", "正在总结之前的对话")
}

func (w words) withheld(tool string) string {
	return w.of("the same call of "+tool+" failed three times and is not tried again", "同一个 "+tool+" 调用失败三次，本轮不再重试")
}

func (w words) report(task string) string {
	return w.of("The background task \""+task+"\" has ended. Its report, as it is:", "后台任务“"+task+"”已结束，报告原文：")
}

func (w words) commandFailed() string {
	return w.of("This command could not be carried out just now; the reason is in the log.", "命令暂时无法执行，原因已记入日志。")
}

// leaves says what an address would carry away.
func (w words) leaves(l egress.Leak) string {
	piece := "`" + cleanTo(strings.ReplaceAll(l.Piece, "`", "'"), 4*maxName) + "`"
	switch l.Of {
	case "":
		return w.of("The address is too long to be looked through; it begins with "+piece+".", "地址太长，无法检查；它的开头是 "+piece+"。")
	case egress.Conversation:
		return w.of("The address would carry away a piece of our conversation: "+piece+".", "这个地址会带走我们对话的一部分："+piece+"。")
	case egress.Notes:
		return w.of("The address would carry away a piece of my notes: "+piece+".", "这个地址会带走我笔记的一部分："+piece+"。")
	}
	return w.of("The address would carry away a piece of what `"+cleanTo(l.Of, maxName)+"` has returned: "+piece+".", "这个地址会带走 `"+cleanTo(l.Of, maxName)+"` 返回内容的一部分："+piece+"。")
}
