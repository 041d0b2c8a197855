package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"magpie/agent/buttons"
	"magpie/agent/settings"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/when"
)

// noticeAction is the name of what the buttons under a notice do.
const noticeAction = "notice"

// snoozeFor is how much later a snoozed notice comes again.
const snoozeFor = 10 * time.Minute

// snoozed is the payload of a button: the language of the notice and, for the
// second one, what the copy needs. The job itself may be gone by the time of
// the press.
type snoozed struct {
	Lang    string      `json:"lang"`
	Name    string      `json:"name,omitempty"`
	Message string      `json:"message,omitempty"`
	Maker   cron.Person `json:"maker,omitzero"`
	Direct  bool        `json:"direct,omitempty"`
	Zone    string      `json:"zone,omitempty"`
}

// noticeButtons makes the buttons under a notice. In a private chat anyone who
// is there may press, in a group the maker and the admins of its channel.
func (p *program) noticeButtons(ctx context.Context, reg *buttons.Registry, job cron.Job, lang string) ([][]chat.Button, error) {
	spec := buttons.Spec{Addr: job.Addr, Once: true, Action: noticeAction}
	if !job.Direct && p.platform(job.Addr.Channel) != webType {
		if spec.Senders = p.mayPress(job); len(spec.Senders) == 0 {
			return nil, nil
		}
	}
	done, err := json.Marshal(snoozed{Lang: lang})
	if err != nil {
		return nil, fmt.Errorf("make buttons: %w", err)
	}
	again, err := json.Marshal(snoozed{lang, job.Name, job.Message, job.Maker, job.Direct, job.Schedule.Zone})
	if err != nil {
		return nil, fmt.Errorf("make buttons: %w", err)
	}
	choices := []buttons.Choice{
		{Label: pickLang(lang, "Done", "完成"), Payload: string(done)},
		{Label: pickLang(lang, "Snooze 10m", "10分钟后再提醒"), Payload: string(again)},
	}
	made, err := reg.Make(ctx, spec, choices)
	if err != nil {
		return nil, err
	}
	return [][]chat.Button{made}, nil
}

func (p *program) mayPress(job cron.Job) (ids []string) {
	if job.Maker.Channel == job.Addr.Channel && job.Maker.ID != "" {
		ids = append(ids, job.Maker.ID)
	}
	for _, admin := range p.config().Security.Admins {
		if id, ok := strings.CutPrefix(admin, job.Addr.Channel+":"); ok {
			ids = append(ids, id)
		}
	}
	return ids
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
