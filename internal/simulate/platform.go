package simulate

import (
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Place is a chat of the person on a platform.
type Place string

// The chats of a platform. In the group everything that the person writes
// mentions the bot, by whatever mentions are on that platform.
const (
	Private Place = "private"
	Group   Place = "group"
)

// Places are all chats of a platform.
func Places() []Place { return []Place{Private, Group} }

// platform is one fake with one person on it. Ids are the platform's own.
type platform interface {
	// Say writes as the person and returns the message's id. An error says that
	// the platform lost the message and why.
	Say(at Place, text string, files []File) (id string, err error)
	// Press presses a button of a message that shows it.
	Press(at Place, message, data string) (press string, err error)
	// Shown is what the bot has put into a chat, oldest first.
	Shown(at Place) []Message
	// Fail makes the next calls that send a message go wrong.
	Fail(t Trouble, times int)
	// Connected says whether the bot waits for messages.
	Connected() bool
}

// reactor is a platform that knows the bot's reactions to a person's message.
type reactor interface {
	Reactions(at Place, message string) []string
}

// typer is a platform that counts how often it was told that the bot writes.
type typer interface {
	Typed(at Place) int
}

// noter is a platform that shows the answer to a press to the person alone.
type noter interface {
	Note(press string) string
}

// house is a fake that is ready to be served.
type house struct {
	platform
	handler http.Handler
	close   func()
	section func(base string) map[string]any // of the bot's configuration
	sender  string                           // the person's id
}

// Message is a message of the bot as its chat shows it.
type Message struct {
	ID      string
	Text    string
	Buttons []Button
	Files   []File
}

// Button is a button under a message.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"-"`
	// Row counts from 0; buttons of one row stand side by side.
	Row int `json:"row"`
}

// File is a file with its bytes.
type File struct {
	Name, MIME string
	Data       []byte
}

// newFile makes a file of what a person picked.
func newFile(name string, data []byte) File {
	name = filepath.Base(name)
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = http.DetectContentType(data)
	}
	kind, _, _ = strings.Cut(kind, ";")
	return File{Name: name, MIME: kind, Data: data}
}

// is says whether the file is of a kind such as image.
func (f File) is(kind string) bool { return strings.HasPrefix(f.MIME, kind+"/") }

// Trouble is a way in which a call goes wrong.
type Trouble string

// The troubles.
const (
	TooFast  Trouble = "429"  // the platform asks to wait
	Broken   Trouble = "502"  // a page of a proxy
	Dropped  Trouble = "drop" // the connection ends instead of an answer
	Answered Trouble = "lost" // the message arrives, the connection ends before the answer
)

// Troubles are all of them.
func Troubles() []Trouble { return []Trouble{TooFast, Broken, Dropped, Answered} }

// waitFor is how many seconds the bot is asked to wait by TooFast.
const waitFor = 2

// counted counts the calls of a path that are under way: those of a long poll
// or a socket are open as long as the bot is connected.
func counted(h http.Handler, suffix string) (http.Handler, *atomic.Int64) {
	n := new(atomic.Int64)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, suffix) {
			n.Add(1)
			defer n.Add(-1)
		}
		h.ServeHTTP(w, r)
	}), n
}
