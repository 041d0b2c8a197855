package desk

import (
	"errors"
	"fmt"
	"strings"

	"magpie/cron"
	"magpie/cron/when"
)

// Kind says what a refusal is about.
type Kind int

// The kinds.
const (
	Wrong     Kind = iota // what was asked for cannot be
	Unsure                // it has several meanings, or something is missing: the text asks back
	Unknown               // there is no such job
	Forbidden             // somebody else's job
)

// Refusal says why not, and what would be right, in the language of who asked.
type Refusal struct {
	Kind Kind
	Text string
	// Choices are the times that an Unsure request may have meant, complete.
	Choices []string
	Err     error // the cause, may be nil
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// ask asks back.
func (w Who) ask(a *when.Ambiguous, asked Ask) *Refusal {
	r := &Refusal{Kind: Unsure, Err: a}
	var b strings.Builder
	b.WriteString(a.Question.In(w.Lang))
	for i, c := range a.Choices {
		words := when.Words(c, w.Lang)
		r.Choices = append(r.Choices, words)
		if asked.Prefix != "" {
			message := asked.Message
			if message == "" {
				message = c.Rest
			}
			words = "`" + strings.ReplaceAll(strings.TrimSpace(asked.Prefix+" "+words+" "+line(message, maxShown)), "`", "") + "`"
		}
		fmt.Fprintf(&b, "\n%d. %s", i+1, words)
	}
	r.Text = b.String()
	return r
}

// refuse words the errors of the grammar and of what is checked; others are
// returned as they are.
func (w Who) refuse(err error) error {
	r := &Refusal{Err: err}
	input, isInput := errors.AsType[*cron.InputError](err)
	switch {
	case isInput && input.Field == "every":
		r.Text = w.pick("an interval is whole seconds, at least 10 seconds and at most 10 years; say for example every 10 minutes, or every day at 09:00", wrongChinese(input.Field))
	case isInput && (input.Field == "at" || input.Field == "rule"):
		r.Text = w.pick("that time has passed, or is more than 100 years away; say one that lies ahead", wrongChinese(input.Field))
	case isInput:
		r.Text = w.pick(input.Text, wrongChinese(input.Field))
	case errors.Is(err, when.ErrNone):
		r.Text = w.pick(err.Error(), "没有看懂时间，请说例如“20分钟后”“明天下午三点”“每个工作日 09:00”")
	case errors.Is(err, when.ErrPast):
		r.Text = w.pick(err.Error()+"; want one that lies ahead", "这个时间已经过去了，请说一个将来的时间")
	case errors.Is(err, when.ErrBadZone):
		r.Text = w.pick(err.Error(), when.Explain(err).Chinese)
	case errors.Is(err, when.ErrInvalid):
		r.Text = w.pick(err.Error(), when.Explain(err).Chinese)
	default:
		return err
	}
	return r
}

func wrongChinese(field string) string {
	switch field {
	case "message":
		return fmt.Sprintf("提醒内容不能为空，也不能超过 %d 个字", cron.MaxMessage)
	case "name":
		return fmt.Sprintf("名称不能超过 %d 个字", cron.MaxName)
	case "mode":
		return "mode 只能是 notify（原样提醒）或 agent（到时执行）"
	case "misfire":
		return "misfire 只能是 run_once、skip 或 run_if_within:10m"
	case "every":
		return "间隔必须是整秒，至少 10 秒，最多 10 年，例如“每10分钟”“每天 09:00”"
	case "nag":
		return "再次提醒的间隔必须是整秒，1 分钟到 24 小时，并且只用于提醒"
	case "rule":
		return "这个重复规则没有将来的时间"
	case "cron":
		return "cron 表达式不正确：需要 5 个字段（分 时 日 月 星期，0 = 周日），或以秒开头的 6 个字段，例如 30 9 * * 1-5"
	case "schedule":
		return "之后不会再来了，请直接删除"
	case "at":
		return "时间必须在将来，并且在 100 年以内"
	case "zone":
		return "不认识这个时区，请写 Asia/Shanghai、Europe/Berlin、UTC+8 这样的名称"
	}
	return "时间不正确"
}

// refuse words the errors of the store.
func (d *Desk) refuse(w Who, err error) error {
	if said, is := errors.AsType[*Refusal](err); is {
		return said
	}
	r := &Refusal{Err: err}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cron.ErrTooMany):
		r.Text = fmt.Sprintf(w.pick("this chat has %d reminders already, which is the limit; remove some first", "此会话已有 %d 个提醒，达到上限，请先删除一些"), d.jobs.PerChat())
	case errors.Is(err, cron.ErrNotYours):
		r.Kind, r.Text = Forbidden, w.pick("only who made a reminder, or an admin, may change it", "只有创建者或管理员可以更改这个提醒")
	case errors.Is(err, cron.ErrOver):
		r.Text = w.pick("its time has passed; make a new one", "它的时间已经过去，请新建一个")
	case errors.Is(err, cron.ErrRunning):
		r.Text = w.pick("it is being delivered right now", "它正在发送")
	case errors.Is(err, cron.ErrCorrupt):
		r.Text = w.pick("its entry in the store is damaged; an admin may remove it by its id", "它的记录已损坏，管理员可以按 id 删除")
	case errors.Is(err, cron.ErrNotFound):
		r.Kind, r.Text = Unknown, w.pick("there is no such reminder in this chat", "这个会话里没有这个提醒")
	default:
		return w.refuse(err)
	}
	return r
}
