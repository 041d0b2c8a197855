package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"magpie/agent/buttons"
	"magpie/agent/settings"
	"magpie/cron"
	"magpie/cron/when"
)

// noticeAction is the name of what the buttons did that stood under notices
// before there were others; some can still be pressed.
const noticeAction = "notice"

// snoozeFor is how much later a snoozed notice comes again.
const snoozeFor = 10 * time.Minute

// snoozed is the payload of such a button: the language of the notice and, for
// the second one, what the copy needs.
type snoozed struct {
	Lang    string      `json:"lang"`
	Name    string      `json:"name,omitempty"`
	Message string      `json:"message,omitempty"`
	Maker   cron.Person `json:"maker,omitzero"`
	Direct  bool        `json:"direct,omitempty"`
	Zone    string      `json:"zone,omitempty"`
}

// pressNotice is what a press under a notice does. The copy of a snoozed one
// is made once however often the press is handled.
func (p *program) pressNotice(ctx context.Context, pressed buttons.Pressed) (buttons.Result, error) {
	var s snoozed
	if err := json.Unmarshal([]byte(pressed.Choice.Payload), &s); err != nil {
		return buttons.Result{}, fmt.Errorf("read what is snoozed: %w", err)
	}
	if s.Message == "" {
		return buttons.Result{Notice: pickLang(s.Lang, "Done.", "好的，已完成。")}, nil
	}
	job, err := p.jobs.AddOnce(ctx, pressed.ID, cron.Job{
		Name: s.Name, Message: s.Message, Addr: pressed.In.Addr, Maker: s.Maker, Direct: s.Direct,
		Schedule: cron.Schedule{At: p.now().Add(snoozeFor), Zone: s.Zone},
	})
	if err != nil {
		return buttons.Result{}, err
	}
	at := when.Moment(job.Schedule.At.In(zoneOf(job)), s.Lang)
	return buttons.Result{
		Notice: pickLang(s.Lang, "In 10 minutes.", "10 分钟后。"),
		Text:   pickLang(s.Lang, "💤 I say it again at "+at+".", "💤 再次提醒时间："+at+"。"),
	}, nil
}

func pickLang(lang, en, zh string) string {
	if lang == settings.Chinese {
		return zh
	}
	return en
}
