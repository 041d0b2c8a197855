package guard

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

var (
	// rooted finds what may be an absolute path or one from a home folder,
	// anywhere in a word: --file=/etc/passwd, open('/etc/passwd').
	rooted = regexp.MustCompile("(?:^|[^A-Za-z0-9_./~%+*?\\])}-])(/[^\\s'\"`;|&<>(),\\\\]*)")
	// attached are options with a path right behind them: -C/etc, -xf../a.tar.
	attached = regexp.MustCompile(`^-[A-Za-z]+(/|\.\.)`)
	// dotted finds a path with "..".
	dotted = regexp.MustCompile("(?:^|[\\s'\"`=:,(<>@])((?:[^\\s'\"`=:,(<>|;&]*/)?\\.\\.(?:/[^\\s'\"`;|&<>(),\\\\]*)?)(?:$|[\\s'\"`;|&<>(),])")
)

// paths judges the paths that a word names.
func (j *judge) paths(w word) error {
	if err := j.hidden(w); err != nil {
		return err
	}
	if len(j.guard.opt.Fence) == 0 {
		return nil
	}
	if w.tilde {
		return j.outside(w.text)
	}
	text := detached(w.text)
	for _, m := range dotted.FindAllStringSubmatch(text, -1) {
		if !j.dirKnown || !insideAny(resolve(j.dir, m[1]), j.guard.opt.Fence) {
			return j.outside(m[1])
		}
	}
	for _, m := range rooted.FindAllStringSubmatch(text, -1) {
		p := filepath.Clean(m[1])
		if p == "/" && strings.Trim(w.text, "/.") != "" || harmless(p) || insideAny(p, j.guard.opt.Fence) {
			continue
		}
		// A regular expression or a route of an API looks like a path, but
		// there is nothing where it begins.
		top, _, _ := strings.Cut(p[1:], "/")
		if strings.ContainsAny(top, "*?[{") || j.guard.opt.Exists("/"+top) {
			return j.outside(p)
		}
	}
	return nil
}

func (j *judge) outside(path string) error {
	return denied("%q is outside the workspace and there is no sandbox here, so commands may name only paths inside; use paths relative to the workspace", clip(path))
}

// detached is a word without the options before a path in it.
func detached(text string) string {
	if attached.MatchString(text) {
		return text[strings.IndexAny(text, "/."):]
	}
	return text
}

// isText says whether an argument is a text that no program takes for a path:
// what tr translates, the message of a commit.
func isText(args []word, i int) bool {
	a := args[i]
	if !a.known || a.bare || a.tilde {
		return false
	}
	switch args[0].text {
	case "tr":
		return true
	case "git":
		return i > 2 && (args[1].text == "commit" || args[1].text == "tag") && message.MatchString(args[i-1].text)
	}
	return false
}

// message is an option of git that a message follows: -m, -am, --message.
var message = regexp.MustCompile(`^(-[as]*m|--message)$`)

// harmless are the devices that every command may name.
func harmless(p string) bool {
	switch p {
	case "/dev/null", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return false
}

// hidden refuses a word that names the bot's own data or configuration.
func (j *judge) hidden(w word) error {
	if w.text == "" {
		return nil
	}
	names := []string{w.text}
	text := detached(w.text)
	for _, re := range []*regexp.Regexp{rooted, dotted} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	if _, value, ok := strings.Cut(w.text, "="); ok {
		names = append(names, value)
	}
	for _, n := range names {
		if n == "" {
			continue
		}
		p := resolve(j.dir, n)
		if insideAny(p, j.guard.opt.Hidden) && !insideAny(p, j.guard.opt.Open) {
			return denied("%q is the bot's own data or configuration, which no command may use", clip(n))
		}
	}
	return nil
}
