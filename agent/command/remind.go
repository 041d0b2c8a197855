package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/chat"
	"magpie/internal/near"
)

// Reminders keeps the reminders and jobs of chats. It answers in the asker's
// language, also why something cannot be; an error is a failure of its own.
type Reminders interface {
	// Remind makes a job of a time and what is to be said then, or does what else
	// the text wants of the reminders; task: what is to be done by the agent.
	Remind(ctx context.Context, a Asker, text string, task bool) (Reply, error)
	List(ctx context.Context, a Asker) (Reply, error)
	// Timed says that a text holds a time, or what may be one; Dated that it is days
	// and nothing else.
	Timed(a Asker, text string) bool
	Dated(a Asker, text string) bool
	// Change does what the verb says to the job that rest means: a number of the
	// list, an id, or words of its text, with the new time, text or name behind
	// it. The verbs are "remove", "pause", "resume", "run", "skip", "done", "undo",
	// "move", "snooze", "rename", "text" and "clear", which means all; "more" shows the
	// rest of a list, "when" one of it, "list" those of the days that rest names,
	// and "export" gives all as a calendar file.
	Change(ctx context.Context, a Asker, verb, rest string) (Reply, error)
}

// Reply is an answer with what stands under it.
type Reply struct {
	Text    string
	Buttons [][]chat.Button
	Files   []chat.Attachment
	Sources []chat.Source // of the text from outside that Text may hold
}

// Asker is who asks for a reminder.
type Asker struct {
	Delivery chat.Delivery
	Zone     *time.Location // of the chat
	Lang     string         // of the chat: "en" or "zh"
	Admin    bool           // may change the jobs of others
	Prefix   string         // the command that a choice can be written behind
}

func (s *Set) asker(r *request) Asker {
	return Asker{Delivery: r.d, Zone: s.ports.Settings.Zone(r.set), Lang: r.lang, Admin: s.admin(r), Prefix: r.pick("/remind", "/提醒")}
}

// verbs are what can be done with reminders, in all spellings. The first is
// the name that Reminders knows.
func verbs() [][]string {
	return [][]string{
		{"list", "ls", "show", "all", "列表", "查看", "全部"},
		{"add", "new", "create", "添加", "新建", "增加"},
		{"task", "agent", "任务"},
		{"clear", "清空"},
		{"more", "更多", "下一页"},
		{"remove", "rm", "delete", "del", "cancel", "删除", "取消", "删掉"},
		{"pause", "stop", "暂停", "停止"},
		{"resume", "continue", "恢复", "继续"},
		{"run", "now", "执行", "运行"},
		{"skip", "跳过"},
		{"done", "完成"},
		{"undo", "撤销", "撤回"},
		{"move", "change", "reschedule", "改到", "改时间", "改为", "移到"},
		{"snooze", "postpone", "推迟", "延后", "稍后"},
		{"rename", "name", "改名", "重命名"},
		{"text", "edit", "改内容", "内容"},
		{"export", "导出"},
		{"help", "?", "帮助", "用法"},
	}
}

// verbOf takes a verb from the front of a text: "pause 2", "删除2"; "" when
// there is none.
func verbOf(text string) (verb, rest string) { return verbIn(verbs(), text) }

// verbIn is verbOf with verbs of another command.
func verbIn(verbs [][]string, text string) (verb, rest string) {
	word, rest := text, ""
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		word, rest = text[:end], text[end:]
	}
	word = strings.ToLower(strings.Map(narrow, word))
	for _, names := range verbs {
		if slices.Contains(names, word) {
			return names[0], strings.TrimSpace(rest)
		}
		for _, name := range names {
			number, ok := strings.CutPrefix(word, name)
			if ok && name[0] >= utf8.RuneSelf && strings.Trim(number, "0123456789#") == "" {
				return names[0], strings.TrimSpace(number + " " + strings.TrimSpace(rest))
			}
		}
	}
	return "", text
}

// nearVerb is the verb that a word was probably meant to be, "" for none.
func nearVerb(word string) string {
	letters := utf8.RuneCountInString(word)
	if letters < 3 || letters > 12 || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) || r >= utf8.RuneSelf }) {
		return ""
	}
	for _, names := range verbs() {
		if d := near.Distance(strings.ToLower(word), names[0]); d == 1 || d == 2 && letters > 5 {
			return names[0]
		}
	}
	return ""
}

// runRemind makes a reminder. "list" alone, and a verb with a number or an id,
// are understood as in /reminders; everything else may be what to say.
func runRemind(ctx context.Context, s *Set, r *request) (string, error) {
	verb, rest := verbOf(r.args)
	switch {
	case r.args == "":
		return r.pick("When, and what of? For example `/remind in 20 minutes to stretch`, `/remind every weekday at 09:00 stand-up`. `/reminders` lists them.",
			"什么时候，提醒什么？例如 `/提醒 20分钟后休息一下`、`/提醒 每个工作日 09:00 站会`。`/提醒列表` 查看全部。"), nil
	case verb == "list" && rest == "":
		return s.listReminders(ctx, r)
	case verb != "" && verb != "list" && verb != "add" && verb != "task" && isRef(rest):
		return r.show(s.ports.Reminders.Change(ctx, s.asker(r), verb, rest))
	}
	return r.show(s.ports.Reminders.Remind(ctx, s.asker(r), r.args, false))
}

// show is the text of an answer; what stands under it goes with it.
func (r *request) show(reply Reply, err error) (string, error) {
	r.rows, r.file, r.sources = reply.Buttons, reply.Files, reply.Sources
	return reply.Text, err
}

// isRef says whether a text is a number or an id.
func isRef(text string) bool {
	return text != "" && strings.Trim(text, "#0123456789") == "" ||
		len(text) == 10 && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// runReminders lists the reminders, or changes one.
func runReminders(ctx context.Context, s *Set, r *request) (string, error) {
	if r.args == "" {
		return s.listReminders(ctx, r)
	}
	return s.manage(ctx, r)
}

// runCron is for whoever thinks in jobs: it takes every verb, and "task" for
// what the agent does itself.
func runCron(ctx context.Context, s *Set, r *request) (string, error) {
	if r.args != "" {
		return s.manage(ctx, r)
	}
	text, err := s.listReminders(ctx, r)
	return text + r.pick("\n\n`/cron task every weekday at 08:30 summarise the news` is a task for me; `/cron add` is a reminder.",
		"\n\n`/定时 任务 每个工作日 08:30 汇总新闻` 由我到时执行；`/定时 添加` 只是提醒。"), err
}

// manage obeys a verb. Text without one is a new reminder.
func (s *Set) manage(ctx context.Context, r *request) (string, error) {
	verb, rest := verbOf(r.args)
	word, _, _ := strings.Cut(r.args, " ")
	a, lists := s.asker(r), verb == "list" || verb == ""
	switch {
	case lists && s.ports.Reminders.Dated(a, rest):
		return r.show(s.ports.Reminders.Change(ctx, a, "list", rest))
	case verb == "list":
		return s.listReminders(ctx, r)
	case verb == "help":
		return r.allVerbs(), nil
	case verb == "" && isRef(r.args):
		return r.show(s.ports.Reminders.Change(ctx, a, "when", r.args))
	case verb == "" && (nearVerb(word) != "" || !s.ports.Reminders.Timed(a, r.args)):
		return r.unknownVerb(word), nil
	case verb != "" && verb != "add" && verb != "task":
		return r.show(s.ports.Reminders.Change(ctx, a, verb, rest))
	}
	if rest == "" {
		return r.pick("When, and what? For example `/cron add every day at 09:00 take the pills`.", "什么时候，什么内容？例如 `/定时 添加 每天 09:00 吃药`。"), nil
	}
	a.Prefix = r.pick("/cron add", "/定时 添加")
	if verb == "task" {
		a.Prefix = r.pick("/cron task", "/定时 任务")
	}
	return r.show(s.ports.Reminders.Remind(ctx, a, rest, verb == "task"))
}

// unknownVerb says which verbs there are, and which one was probably meant.
func (r *request) unknownVerb(word string) string {
	meant := ""
	if near := nearVerb(word); near != "" {
		meant = fmt.Sprintf(r.pick(" Did you mean `%s`?", "你是想用 `%s` 吗？"), near)
	}
	return fmt.Sprintf(r.pick("I do not know %s.%s %s", "没有 %s 这个操作。%s%s"), code(cut(word)), meant, r.allVerbs())
}

func (r *request) allVerbs() string {
	return r.pick("There are list, more, add, task, remove, clear, pause, resume, run, skip, done, undo, move, snooze, rename, text and export; a new reminder needs a time.",
		"可用：列表、更多、添加、任务、删除、清空、暂停、恢复、执行、跳过、完成、撤销、改到、推迟、改名、内容、导出；新建提醒要写时间。")
}

func (s *Set) listReminders(ctx context.Context, r *request) (string, error) {
	text, err := r.show(s.ports.Reminders.List(ctx, s.asker(r)))
	if err != nil {
		return "", err
	}
	return text + r.pick("\n\n`/reminders remove 1` takes one away, `/reminders move 1 tomorrow at 9` gives it another time; pause, resume, skip and snooze work the same. `/remind in 20 minutes to stretch` makes one.",
		"\n\n`/提醒列表 删除 1` 可删除，`/提醒列表 改到 1 明天上午9点` 可改时间；暂停、恢复、跳过、推迟用法相同。`/提醒 20分钟后休息一下` 新建。"), nil
}
