package model

import (
	"fmt"
	"strings"

	"magpie/agent/llm"
)

// Cause says why one model gave no answer.
type Cause struct {
	Model string
	Tries int
	Err   error
}

// Unavailable says that no model answered, with each one's reason in the order
// in which they were asked.
type Unavailable struct{ Causes []Cause }

// Error is for the log.
func (e *Unavailable) Error() string {
	var b strings.Builder
	b.WriteString("no model answered")
	for _, c := range e.Causes {
		fmt.Fprintf(&b, "; after %d tries: %v", c.Tries, c.Err)
	}
	return b.String()
}

// Unwrap gives the reasons.
func (e *Unavailable) Unwrap() []error {
	errs := make([]error, len(e.Causes))
	for i, c := range e.Causes {
		errs[i] = c.Err
	}
	return errs
}

// Notice is for the chat: what is wrong with each model and what helps. It
// holds no text of the model's server.
func (e *Unavailable) Notice(lang string) string {
	var b strings.Builder
	if lang == "zh" {
		b.WriteString("抱歉，现在没有模型能回答。您的消息已经保存，稍后再说一声“继续”即可。")
	} else {
		b.WriteString("Sorry, no model can answer just now. Your message is kept: say \"again\" in a while.")
	}
	b.WriteString("\n")
	for _, c := range e.Causes {
		fmt.Fprintf(&b, "\n- %s: %s", c.Model, explain(c.Err, lang))
	}
	return b.String()
}

// explain says in a sentence what is wrong and who can mend it.
func explain(err error, lang string) string {
	en, zh := "its server cannot be reached; check the connection and base_url", "无法连接它的服务器；请检查网络和 base_url"
	status := statusOf(err)
	switch kind := llm.KindOf(err); {
	case kind == llm.Unauthorized:
		en, zh = "the key was refused or the account has no balance; the operator must look at api_key and billing", "密钥被拒绝或账户余额不足；请管理员检查 api_key 和账单"
	case kind == llm.RateLimited:
		en, zh = "it has too many requests; try again in a minute", "请求过多被限流；请过一分钟再试"
		if after := retryAfter(err); after > maxWait {
			en = fmt.Sprintf("it has too many requests; try again in %.0f s", after.Seconds())
			zh = fmt.Sprintf("请求过多被限流；请 %.0f 秒后再试", after.Seconds())
		}
	case kind == llm.Rejected:
		en, zh = "it refuses this request; /new starts a fresh conversation, /model chooses another model", "它拒绝了这个请求；/new 开始新对话，/model 换一个模型"
	case kind == llm.TooLong:
		en, zh = "the conversation is too long for it; /new starts a fresh one", "对话太长；/new 开始新对话"
	case isSlow(err):
		en, zh = "it did not finish in time", "它没有按时答完"
	case status != 0:
		en = fmt.Sprintf("its server has trouble (HTTP %d)", status)
		zh = fmt.Sprintf("它的服务器出错（HTTP %d）", status)
	}
	if lang == "zh" {
		return zh
	}
	return en
}
