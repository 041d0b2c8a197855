package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// side is one fake platform as these tests see it: people join and write, and
// chats show what the bot has put there.
type side interface {
	name() string
	drive() driver.Platform
	// join makes person n and returns their private chat as the bot calls it.
	join(n int) (chat string)
	// say writes into a chat and returns the event's id.
	say(chat, text string, files ...sentFile) (event string)
	shown(chat string) []line
}

// sentFile is a file that a person sends; kind is one of image, voice, file.
type sentFile struct {
	kind, name, mime string
	data             []byte
	words            string // what the platform understands of a voice
}

// line is one message of the bot as a chat shows it.
type line struct {
	id, text string
	buttons  []string // their data, row by row
	files    []shownFile
}

type shownFile struct {
	name string
	data []byte
}

// five is a world with the five platforms, a scripted model and a folder.
type five struct {
	*sides
	t      testing.TB
	model  *modelserver.Server
	dir    string
	models string // more fields of the model
	extra  string // more lines of the configuration
	common string // more keys for every channel
	rate   string // of every channel
	admins string // quoted, with commas between them
	only   []string
	fixed  string // where the platform is, "" = at an address for each life
	life   int
}

// fiveOptions adjust a world.
type fiveOptions struct {
	forget bool // the fakes keep nothing: for benchmarks
	// told hears of each message of the bot that is sent or changed, while
	// its platform is locked.
	told func(platform, chat, text string)
	// now is the platforms' clock; nil = time.Now.
	now func() time.Time
	// pulse is the heartbeat interval of Discord and QQ; 0 = theirs.
	pulse time.Duration
	cards bool // DingTalk has a card template
	// rates: the platforms refuse what is faster than they allow, and the program
	// keeps to its own rates.
	rates    bool
	telegram telegram.Ways
	// drafted hears of Telegram's drafts; nil = told does.
	drafted func(chat, text string)
	// markdown: QQ's bot may send native markdown and keyboards.
	markdown bool
	// active is how many active messages a day QQ takes for a chat; 0 = its own.
	active int
}

func newFive(t testing.TB, o fiveOptions) *five {
	t.Helper()
	if o.told == nil {
		o.told = func(string, string, string) {}
	}
	f := &five{t: t, sides: newSides(o), model: modelserver.New(t), dir: t.TempDir(), common: "stream: false", rate: map[bool]string{true: "auto", false: "off"}[o.rates]}
	t.Cleanup(f.close)
	return f
}

// each calls do for the platforms that the program is connected with.
func (f *five) each(do func(p side)) {
	for _, p := range f.all() {
		if f.only == nil || slices.Contains(f.only, p.name()) {
			do(p)
		}
	}
}

// people lets n people join each platform and returns their chats.
func (f *five) people(n int) map[side][]string {
	chats := map[side][]string{}
	f.each(func(p side) {
		for i := range n {
			chats[p] = append(chats[p], p.join(i))
		}
	})
	return chats
}

// config writes the configuration for the next life of the program, in which
// every platform has an address of its own.
func (f *five) config() (path, listen string) {
	f.t.Helper()
	f.life++
	var sections strings.Builder
	f.each(func(p side) {
		base := f.fixed
		if base == "" {
			srv := httptest.NewServer(f.tap(p.name()).of(f.life))
			f.t.Cleanup(func() {
				srv.CloseClientConnections()
				srv.Close()
			})
			base = srv.URL
		}
		allow := `"*"`
		if f.allow != nil {
			allow = f.allow(p)
		}
		fmt.Fprintf(&sections, "  %s: {%s, allow: [%s], rate: %q, %s}\n", p.name(), sectionOf(p, base), allow, f.rate, f.common)
	})
	listen = freeAddr(f.t)
	text := fmt.Sprintf(`data_dir: %s
llm: {models: [{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted%s}]}
channels:
%ssecurity: {rate_limit: {per_sender: ""}, admins: [%s]}
web: {listen: %q}
%s
`, f.dir, f.model.OpenAI(), f.models, &sections, f.admins, listen, f.extra)
	path = filepath.Join(f.dir, "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path, listen
}

// start starts the program and waits until every platform is connected: on
// DingTalk what people write before that is lost.
func (f *five) start() *bot {
	f.t.Helper()
	path, listen := f.config()
	b := launch(f.t, f.dir, nil, "run", "--config", path)
	b.listen = listen
	b.ready()
	f.each(func(p side) {
		if p == side(f.dt) {
			f.within(deadline, "a connection of DingTalk", p.drive().Connected)
		}
	})
	return b
}

// within polls for something that may take as long as bound.
func (f *five) within(bound time.Duration, what string, cond func() bool) bool {
	f.t.Helper()
	end := time.After(bound)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-end:
			f.t.Errorf("never: %s", what)
			return false
		case <-tick.C:
		}
	}
	return true
}

// wait waits until a chat shows what ok accepts and returns what it shows.
func (f *five) wait(p side, chat, what string, ok func([]line) bool) (shown []line) {
	f.t.Helper()
	if !f.within(deadline, fmt.Sprintf("%s, %s: %s", p.name(), chat, what), func() bool { shown = p.shown(chat); return ok(shown) }) {
		f.t.Fatalf("the chat shows %q", shown)
	}
	return shown
}

// has says that some message holds text.
func has(text string) func([]line) bool {
	return func(all []line) bool { return holding(all, text) > 0 }
}

// holding counts the messages that hold text.
func holding(all []line, text string) (n int) {
	for _, l := range all {
		if strings.Contains(l.text, text) {
			n++
		}
	}
	return n
}

// mark is a word that goes unharmed through every dialect and encoding.
func mark(who, n int) string { return fmt.Sprintf("q%dx%dz", who, n) }

var marks = regexp.MustCompile(`q\d+x\d+z`)

// tap notes which life of the program has sent each mark to a platform.
type tap struct {
	inner http.Handler
	off   bool

	mu sync.Mutex
	by map[string][]int
}

// of is the platform for one life of the program.
func (p *tap) of(life int) http.Handler {
	if p.off {
		return p.inner
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			p.inner.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the program has died
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.inner.ServeHTTP(w, r)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range slices.Compact(slices.Sorted(slices.Values(marks.FindAllString(string(body), -1)))) {
			p.by[m] = append(p.by[m], life)
		}
	})
}

// lives are those that have sent a mark, in ascending order.
func (p *tap) lives(mark string) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.by[mark]))
}
