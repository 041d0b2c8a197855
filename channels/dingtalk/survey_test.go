package dingtalk

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"

	fake "magpie/internal/fakes/dingtalk"
)

// Each permission is asked for with what is lost without it, nothing is sent by
// asking, and features that are not configured are not asked about.
func TestSurvey(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		ops    []string // without permission
		want   []string // in the lines, one each
		calls  int
	}{
		{"all is there", nil, nil, nil, 5},
		{"no cards, no sign", func(c *Config) { c.WorkingSign = noSign }, []string{fake.OpEmotion, fake.OpCardStream}, nil, 4},
		{"all is missing", nil, []string{fake.OpPerson, fake.OpGroup, fake.OpDownload, fake.OpEmotion, fake.OpUpload}, []string{"reminders", "groups", "people send", "at work", "bot sends"}, 5},
		{"with cards", withCards, []string{fake.OpCardCreate, fake.OpCardUpdate, fake.OpCardStream}, []string{"cards", "buttons", "grow"}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.cfg = c.change
			ch := w.channel(t, channels.Deps{})
			for _, op := range c.ops {
				w.Fail(fake.Fault{Op: op, Status: 403, Code: "Forbidden.AccessDenied.AccessTokenPermissionDenied", Errcode: 60011, Message: "没有权限", Scopes: []string{"scope_of_" + op}})
			}
			lacks, err := ch.(channels.Surveyor).Survey(channeltest.Bounded(t))
			if err != nil || len(lacks) != len(c.want) {
				t.Fatalf("%q, %v", lacks, err)
			}
			for i, line := range lacks {
				named := c.ops[i] == fake.OpUpload || strings.Contains(line, "scope_of_"+c.ops[i]) // the old server names none
				if !strings.Contains(line, c.want[i]) || !named {
					t.Errorf("%q does not name %s and what is lost: %s", line, c.ops[i], c.want[i])
				}
			}
			n := 0
			for _, op := range []string{fake.OpPerson, fake.OpGroup, fake.OpDownload, fake.OpEmotion, fake.OpUpload, fake.OpCardCreate, fake.OpCardUpdate, fake.OpCardStream} {
				n += w.Calls(op)
			}
			if n != c.calls || len(w.Messages(ann().Chat()))+len(w.Messages(crowd().Chat())) != 0 {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
		})
	}
	w := newWorld(t, nil)
	ch := w.channel(t, channels.Deps{})
	w.Fail(fake.Fault{Op: fake.OpGroup, Status: 503, Page: true})
	if lacks, err := ch.(channels.Surveyor).Survey(channeltest.Bounded(t)); err == nil || len(lacks) != 0 {
		t.Errorf("%q, %v though one could not be looked at", lacks, err)
	}
}
