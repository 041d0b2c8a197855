package command

import (
	"context"
	"fmt"

	"magpie/agent/settings"
)

func runZone(ctx context.Context, s *Set, r *request) (string, error) {
	if r.args == "" {
		now := s.now().In(s.ports.Settings.Zone(r.set))
		return fmt.Sprintf(r.pick("The time zone here is %s, it is %s. `/tz Asia/Shanghai` or `/tz UTC+8` changes it, `/tz default` goes back.",
			"这里的时区是 %s，现在是 %s。`/时区 Asia/Shanghai` 或 `/时区 UTC+8` 可以更改，`/时区 默认` 恢复默认。"),
			code(now.Location().String()), now.Format("2006-01-02 15:04")), nil
	}
	name := ""
	if !isDefault(r.args) {
		var err error
		if name, _, err = settings.ParseZone(r.args); err != nil {
			return fmt.Sprintf(r.pick("I do not know the time zone %s. Write a name such as `Asia/Shanghai` or an offset such as `UTC+8`.",
				"没有 %s 这个时区。请写名称（如 `Asia/Shanghai`、上海）或偏移（如 `UTC+8`）。"), code(cut(r.args))), nil
		}
	}
	if err := s.ports.Settings.Change(ctx, r.d.Addr.Session(), func(set *settings.Settings) { set.Zone = name }); err != nil {
		return "", err
	}
	now := s.now().In(s.ports.Settings.Zone(settings.Settings{Zone: name}))
	text := fmt.Sprintf(r.pick("The time zone of this chat is %s now; it is %s.", "此聊天的时区现在是 %s，当前时间 %s。"),
		code(now.Location().String()), now.Format("2006-01-02 15:04"))
	if s.ports.Reminders != nil {
		text += r.pick(" Reminders that exist keep their own.", "已有的提醒仍用原来的时区。")
	}
	return text, nil
}
