package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/ics"
	"magpie/tools"
)

// aboutCalendar finds what people write beside a calendar file that they want
// to be reminded by. Other words are for the model.
var aboutCalendar = regexp.MustCompile(`(?i)remind|calendar|import|\badd\b|schedule|提醒|日历|日程|导入|添加|加入`)

// maxNamed is how many entries of a calendar file are named that no reminder is
// made of.
const maxNamed = 5

// calendar offers what calendar files ask to be reminded of. False when none was
// sent, or something else is wanted with it.
func (t *toolbox) calendar(ctx context.Context, w desk.Who, sc tools.Scope) (said desk.Said, mine bool, err error) {
	files := slices.DeleteFunc(slices.Clone(sc.Files), func(a chat.Attachment) bool {
		kind, _, _ := strings.Cut(a.MIME, ";")
		return a.Ref == "" || kind != "text/calendar" && !strings.HasSuffix(strings.ToLower(a.Name), ".ics")
	})
	if len(files) == 0 || sc.Said != "" && !aboutCalendar.MatchString(sc.Said) {
		return desk.Said{}, false, nil
	}
	var jobs []cron.Job
	var without []string
	var from []chat.Source // all of what it says, whoever made the file
	for _, f := range files {
		entries, skipped, err := t.readCalendar(ctx, f.Ref, sc.Zone)
		switch {
		case errors.Is(err, ics.ErrTooBig):
			return desk.Said{Text: pickLang(w.Lang, "This calendar file is larger than 1 MB, which is the limit.", "日历文件超过 1 MB，无法读取。")}, true, nil
		case errors.Is(err, ics.ErrNotCalendar):
			continue
		case err != nil:
			return desk.Said{}, false, fmt.Errorf("read calendar file: %w", err)
		}
		source := []chat.Source{{Kind: chat.SourceFile, Name: f.Name, At: t.p.now()}}
		from = chat.JoinSources(from, source)
		for _, e := range entries {
			jobs = append(jobs, cron.Job{Name: e.Name, Message: e.Text, Schedule: e.Schedule, Sources: source})
		}
		for _, s := range skipped {
			without = append(without, s.Text+pickLang(w.Lang, " ("+s.Why.English+")", "（"+s.Why.Chinese+"）"))
		}
	}
	note := leftOut(without, w.Lang)
	switch {
	case len(jobs) > 0:
		said, err = t.reminders.Offer(ctx, w, jobs, sc.CallID)
		said.Text, said.Sources = said.Text+note, chat.JoinSources(said.Sources, from)
		return said, true, err
	case len(without) > 0:
		return desk.Said{Text: pickLang(w.Lang, "There is nothing to be reminded of in this calendar.", "这个日历里没有可以提醒的内容。") + note, Sources: from}, true, nil
	}
	return desk.Said{}, false, nil // none could be read: perhaps the model knows what it is
}

func (t *toolbox) readCalendar(ctx context.Context, ref string, zone *time.Location) ([]ics.Entry, []ics.Skipped, error) {
	f, err := t.p.files().Open(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ics.Read(f, zone, t.p.now())
}

// leftOut names what no reminder is made of, and why.
func leftOut(all []string, lang string) string {
	if len(all) == 0 {
		return ""
	}
	text := "\n\n" + pickLang(lang, "Left out: ", "不包括：") + strings.Join(all[:min(maxNamed, len(all))], pickLang(lang, "; ", "；"))
	if more := len(all) - maxNamed; more > 0 {
		text += fmt.Sprintf(pickLang(lang, "; and %d more", "；还有 %d 个"), more)
	}
	return text
}
