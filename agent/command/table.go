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
		{[]string{"why", "为什么", "为何"}, "", "what I have read from outside, and why I ask", "查看我读过的外部内容和征求同意的原因", runWhy, nil},
		{[]string{"model", "模型", "models"}, "[name]", "show or choose the model", "查看或选择模型", runModel, func(p *Ports) bool { return p.Models != nil }},
		{[]string{"remind", "提醒", "reminder"}, "[when and what]", "remind you at a time", "到时提醒你", runRemind, func(p *Ports) bool { return p.Reminders != nil }},
		{[]string{"reminders", "提醒列表", "alarms"}, "[remove|move|pause|resume|skip number]", "the reminders of this chat", "查看和更改提醒", runReminders, func(p *Ports) bool { return p.Reminders != nil }},
		{[]string{"cron", "定时", "jobs", "job", "定时任务"}, "[task|add|remove|pause|resume|run]", "jobs: tasks for me at a time", "定时任务：到时由我执行", runCron, func(p *Ports) bool { return p.Reminders != nil }},
		{[]string{"tools", "工具", "tool"}, "", "the tools that I can use", "查看可用工具", runTools, func(p *Ports) bool { return p.Tools != nil }},
		{[]string{"memory", "记忆", "memories"}, "[search words|remove number]", "what I remember here", "查看和删除记忆", runMemory, func(p *Ports) bool { return p.Memory != nil }},
		{[]string{"context", "上下文", "room"}, "[clear]", "what I keep of this group's talk", "查看和清除暂存的群消息", runContext, func(p *Ports) bool { return p.Room != nil }},
		{[]string{"mcp", "插件"}, "", "the MCP servers and their state", "查看 MCP 服务器", runMCP, func(p *Ports) bool { return p.MCP != nil }},
		{[]string{"approvals", "审批", "permissions", "许可"}, "[id|remove number]", "what waits for an answer, and what is always allowed", "查看待批准的请求和始终允许的调用", runApprovals, func(p *Ports) bool { return p.Approvals != nil }},
		{[]string{"approve", "批准", "allow", "yes", "允许"}, "[id] [always]", "let a tool do what it asks for", "批准工具的请求", runApprove, func(p *Ports) bool { return p.Approvals != nil }},
		{[]string{"deny", "拒绝", "reject", "no"}, "[id]", "forbid it", "拒绝工具的请求", runDeny, func(p *Ports) bool { return p.Approvals != nil }},
		{[]string{"usage", "用量", "cost", "费用"}, "", "tokens and money used today", "查看今天的用量", runUsage, func(p *Ports) bool { return p.Usage != nil }},
		{[]string{"tz", "时区", "timezone"}, "[zone]", "show or set this chat's time zone", "查看或设置时区", runZone, nil},
		{[]string{"lang", "语言", "language"}, "[en|zh|auto]", "show or set the language", "查看或设置语言", runLang, nil},
		{[]string{"pair", "配对"}, "CODE", "let a new person in (admins)", "批准配对码（管理员）", runPair, func(p *Ports) bool { return p.Approve != nil }},
	}
}

// Listed is a command as a platform's menu shows it.
type Listed struct {
	Name        string // without the slash, English
	About       string // one line in English
	Chinese     string // the same in Chinese
	TakesAnArg  bool
	ChineseName string // without the slash; understood as well
}

// List returns the commands in the order of /help.
func List() []Listed {
	var all []Listed
	for _, e := range table() {
		all = append(all, Listed{e.names[0], e.en, e.zh, e.args != "", e.names[1]})
	}
	return all
}
