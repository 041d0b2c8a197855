package command

import "context"

// entry is one command. Adding one is a line in table and a file with its run.
type entry struct {
	// names: the first is the English one, the second the Chinese one; others
	// are understood too. Lower case.
	names  []string
	args   string // for /help, "" none
	en, zh string // what it does
	run    func(ctx context.Context, s *Set, r *request) (string, error)
	// wired says whether the ports that it needs are there; nil = none needed.
	wired func(p *Ports) bool
}

// table lists the commands in the order of /help.
func table() []entry {
	return []entry{
		{[]string{"help", "帮助", "start", "commands", "命令"}, "", "what I understand", "显示帮助", runHelp, nil},
		{[]string{"new", "新对话", "reset", "clear", "新会话", "重置"}, "", "begin a new conversation", "开始新对话", runNew, nil},
		{[]string{"stop", "停止", "cancel", "停"}, "", "stop what I am doing", "停止当前任务", runStop, nil},
		{[]string{"status", "状态"}, "", "what I am doing just now", "查看当前状态", runStatus, nil},
		{[]string{"model", "模型", "models"}, "[name]", "show or choose the model", "查看或选择模型", runModel, func(p *Ports) bool { return p.Models != nil }},
		{[]string{"tools", "工具", "tool"}, "", "the tools that I can use", "查看可用工具", runTools, func(p *Ports) bool { return p.Tools != nil }},
		{[]string{"usage", "用量", "cost", "费用"}, "", "tokens and money used today", "查看今天的用量", runUsage, func(p *Ports) bool { return p.Usage != nil }},
		{[]string{"tz", "时区", "timezone"}, "[zone]", "show or set this chat's time zone", "查看或设置时区", runZone, nil},
		{[]string{"lang", "语言", "language"}, "[en|zh|auto]", "show or set the language", "查看或设置语言", runLang, nil},
		{[]string{"pair", "配对"}, "CODE", "let a new person in (admins)", "批准配对码（管理员）", runPair, func(p *Ports) bool { return p.Approve != nil }},
	}
}
