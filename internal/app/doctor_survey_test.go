package app

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"magpie/config"
	fake "magpie/internal/fakes/discord"
)

// The doctor says what a platform did not give, which feature is lost, and how
// to get it; the channel counts as sound all the same.
func TestDoctorNamesWhatIsLost(t *testing.T) {
	s := fake.New(&fake.Options{NoContent: true})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	s.AddGuild(fake.Guild{ID: dcServer, Name: "Guild", Channels: []fake.Channel{{ID: dcGroup, Name: "group"}}})
	s.Forbid(dcGroup, fake.ReadHistory)
	section := fmt.Sprintf(`{"Token":%q,"APIBase":%q}`, s.Token(), web.URL)
	c := config.Channel{Name: "discord", Type: "discord", Decode: func(into any) error { return json.Unmarshal([]byte(section), into) }}
	f := channelExam(&config.Config{}, c, web.Client()).finding(patiently(t))
	if !f.OK || f.Todo != "" {
		t.Errorf("found %+v", f)
	}
	for _, want := range []string{"accepts the bot", "Message Content Intent", "Read Message History", "#group", "oauth2/authorize?client_id=" + fake.BotID} {
		if !strings.Contains(f.Text, want) {
			t.Errorf("%q is not said in\n%s", want, f.Text)
		}
	}
}
