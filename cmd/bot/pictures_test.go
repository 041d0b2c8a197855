package main

import (
	"bufio"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/pagetest"
	"magpie/internal/portlock"
)

var picturesTo = flag.String("pictures", "", "where the pictures of the README are written; empty: the scenes are only played")

const (
	colours  = 40  // of a picture
	sharp    = 1.5 // real pixels for one of the page
	pageSide = 560 // width of the chat page in its film
	termSide = 270 // width of the terminal beside it
	tall     = 590 // so that nothing has to scroll
	low      = 520
	pieces   = 10                     // of the answer
	before   = 6                      // of them, until the program is killed
	piece    = 200 * time.Millisecond // how long one is shown
)

// lines are what the people of the pictures say, in one language.
type lines struct {
	lang, ask, answer, more, reply string
	killed, kept, all              string // what the terminal remarks
	write                          string // in the simulation
}

func languages() []lines {
	return []lines{
		{
			"en", "A picnic for five on Saturday: what do we need?",
			"- ten sandwiches and a bag of apples\n- three litres of water and one of juice\n- two blankets and the big umbrella",
			"And Ann eats no meat.", "Then four sandwiches with cheese, marked for Ann.",
			"in mid-sentence", "the page keeps it", "nothing lost,\n# nothing twice",
			"write milk, bread, apples to shopping.txt",
		},
		{
			"zh", "周六我们五个人去野餐，要带些什么？",
			"- 三明治十个，苹果一袋\n- 水三升，果汁一升\n- 野餐垫两块，大伞一把",
			"对了，小安不吃肉。", "好的：十个三明治里做四个番茄奶酪的，贴上小安的名字。",
			"话正说到一半", "网页先替你留着", "一条不丢，一条不重",
			"把 牛奶、面包、苹果 写到 购物.txt",
		},
	}
}

// TestPictures plays what the pictures of the README show and, with -pictures,
// writes them.
func TestPictures(t *testing.T) {
	t.Parallel()
	pagetest.Chromium(t)
	schemes, all := []string{"light", "dark"}, languages()
	if *picturesTo == "" {
		schemes, all = schemes[:1], all[1:] // one of each scene shows whether it can be played
	}
	for _, l := range all {
		for _, scheme := range schemes {
			name := l.lang + "-" + scheme
			t.Run("killed-"+name, func(t *testing.T) { killed(t, l, scheme).write("killed-" + name) })
			t.Run("simulate-"+name, func(t *testing.T) { played(t, l, scheme).write("simulate-" + name) })
		}
	}
}

// studio is a browser with the page of a scene, and a terminal that stands
// beside it in the film.
type studio struct {
	*pagetest.Browser
	terminal *pagetest.Browser
	typed    []string
	film     pagetest.Film
}

func newStudio(t *testing.T, lang, scheme string, width, height int64) *studio {
	t.Helper()
	locale := map[string]string{"en": "en-GB", "zh": "zh-CN"}[lang]
	b := pagetest.Open(t, chromedp.Flag("lang", locale), chromedp.Flag("accept-lang", locale), chromedp.Flag("hide-scrollbars", true),
		chromedp.Env("LANGUAGE="+strings.ReplaceAll(locale, "-", "_"), "LANG="+strings.ReplaceAll(locale, "-", "_")+".UTF-8"))
	b.Do(pagetest.Screen(width, height, sharp), pagetest.Calm(scheme))
	return &studio{Browser: b}
}

// visit opens the page in a font that looks the same on every machine.
func (s *studio) visit(url string) {
	s.T.Helper()
	s.Do(chromedp.Navigate(url))
	s.Eval("(document.body.style.fontFamily = \"'Noto Sans CJK SC', sans-serif\")")
}

// withTerminal opens the terminal.
func (s *studio) withTerminal(scheme string) {
	s.T.Helper()
	s.terminal = s.Another()
	s.terminal.Do(pagetest.Screen(termSide, tall, sharp), pagetest.Calm(scheme))
	s.terminal.Eval(`document.documentElement.innerHTML = "<head><style>` +
		`html { height: 100% } body { box-sizing: border-box; height: 100%; margin: 0; padding: 18px 16px; border-left: 1px solid #2c3538; background: #0d1315; color: #d7dedb; font: 14px/1.7 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace; white-space: pre-wrap }` +
		`b { color: #ff8f80; font-weight: 400 } i { color: #7d8a8c; font-style: normal } u { color: #6cc79c; text-decoration: none }` +
		`</style></head><body></body>"`)
}

// types writes lines into the terminal, as HTML.
func (s *studio) types(html ...string) {
	s.T.Helper()
	s.typed = append(s.typed, html...)
	s.terminal.Eval(fmt.Sprintf("document.body.innerHTML = %q", strings.Join(s.typed, "\n")))
}

// shot adds what is to be seen now.
func (s *studio) shot(hold time.Duration) {
	s.T.Helper()
	if *picturesTo == "" {
		return
	}
	var parts []image.Image
	for _, b := range []*pagetest.Browser{s.Browser, s.terminal} {
		if b != nil {
			parts = append(parts, b.Picture())
		}
	}
	size := image.Point{}
	for _, p := range parts {
		size = image.Pt(size.X+p.Bounds().Dx(), p.Bounds().Dy())
	}
	whole, x := image.NewRGBA(image.Rectangle{Max: size}), 0
	for _, p := range parts {
		draw.Draw(whole, p.Bounds().Add(image.Pt(x, 0)), p, image.Point{}, draw.Src)
		x += p.Bounds().Dx()
	}
	s.film.Add(whole, hold)
}

// write makes a file of the film, of one picture a still.
func (s *studio) write(name string) {
	s.T.Helper()
	if *picturesTo == "" {
		return
	}
	end, save := ".gif", s.film.GIF
	if s.film.Frames() == 1 {
		end, save = ".png", s.film.PNG
	}
	f, err := os.Create(filepath.Join(*picturesTo, name+end))
	if err != nil {
		s.T.Fatal(err)
	}
	if err := save(io.Writer(f), colours); err != nil {
		s.T.Error(err)
	}
	if err := f.Close(); err != nil {
		s.T.Error(err)
	}
}

// say writes and sends a message on either page.
func (s *studio) say(text string) {
	s.T.Helper()
	s.Eval(fmt.Sprintf("(document.querySelector('#text').value = %q, document.querySelector('#text').dispatchEvent(new Event('input')), document.querySelector('#text').style.caretColor = 'transparent')", text))
	if s.film.Frames() > 0 { // a film does not begin with an empty page
		s.shot(900 * time.Millisecond)
	}
	s.Eval("document.querySelector('#composer').requestSubmit()")
}

// victim is the program of the film, killed and started again with one store.
type victim struct {
	t    *testing.T
	dir  string
	stop func()
}

// start returns the address of the chat page and the number of the process.
func (v *victim) start() (url string, pid int) {
	v.t.Helper()
	cmd := bot(v.t, v.dir, nil, "run", "--config", "config.yaml")
	log, err := cmd.StderrPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	read, drained := bufio.NewScanner(log), make(chan struct{})
	v.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait() // it was killed
	})
	var said string
	for url == "" && read.Scan() {
		url = ownAddress.FindString(read.Text())
		said += read.Text() + "\n"
	}
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, log)
	}()
	if url == "" {
		v.stop()
		v.t.Fatalf("the program shows no address:\n%s", said)
	}
	return url + "/?token=" + filmToken, cmd.Process.Pid
}

const filmToken = "the-token-of-the-film"

var ownAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// killed is the film at the top: the program is killed in the middle of an
// answer, a message is written while it is down, and after its start both are
// answered, once and in order.
func killed(t *testing.T, l lines, scheme string) *studio {
	step := make(chan struct{})
	model := modelserver.New(t)
	model.Reply(func(r modelserver.Request) modelserver.Answer {
		if strings.Contains(r.LastUser(), l.more) {
			return modelserver.Answer{Text: l.reply, Pieces: modelserver.Pieces{N: pieces / 2, Step: step}}
		}
		return modelserver.Answer{Text: l.answer, Pieces: modelserver.Pieces{N: pieces, Step: step}}
	})
	v := &victim{t: t, dir: t.TempDir()}
	config := fmt.Sprintf("web: {listen: %q, token: "+filmToken+"}\nagent: {busy: queue}\nllm: {models: [{provider: openai, model: m, base_url: %q}]}\n", portlock.Free(t), model.OpenAI())
	if err := os.WriteFile(filepath.Join(v.dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	url, pid := v.start()
	defer func() { v.stop() }()
	s := newStudio(t, l.lang, scheme, pageSide, tall)
	s.withTerminal(scheme)
	s.types("$ ./bot", "<u>Magpie is running.</u>", "")
	s.visit(url + "#main")
	s.Until("document.querySelector('#state')?.classList.contains('up')")
	s.say(l.ask)
	s.Until("document.querySelectorAll('#messages .message').length === 1 && !document.querySelector('.pending')")
	s.shot(900 * time.Millisecond)
	s.streams(step, before, piece)

	s.types("$ <b>kill -9 "+strconv.Itoa(pid)+"</b>", "<i># "+l.killed+"</i>")
	v.stop()
	s.Until("document.querySelector('#state').classList.contains('down')")
	s.shot(2 * time.Second)
	s.say(l.more)
	s.Until("document.querySelector('.pending .foot').textContent.match(/again|重试/)")
	s.types("<i># "+l.kept+"</i>", "")
	s.shot(2 * time.Second)

	_, _ = v.start()
	s.types("$ ./bot", "<u>Magpie is running.</u>", "")
	s.Until("document.querySelector('#state').classList.contains('up') && !document.querySelector('.pending')")
	s.shot(600 * time.Millisecond)
	s.streams(step, pieces, piece/2)
	s.Until("document.querySelectorAll('.message.bot').length === 1 && !document.querySelector('#draft').textContent")
	s.streams(step, pieces/2, piece)
	s.Until("document.querySelectorAll('.message.bot').length === 2 && document.querySelector('#live').hidden")
	s.once(l)
	s.types("<i># " + l.all + "</i>")
	s.shot(6 * time.Second)
	return s
}

// streams lets the model write pieces and takes each when the page shows it. One
// that came too soon after another is shown with the next.
func (s *studio) streams(step chan<- struct{}, n int, hold time.Duration) {
	s.T.Helper()
	for range n {
		before := s.Eval("document.querySelector('#draft').textContent")
		select {
		case step <- struct{}{}:
		case <-time.After(2 * time.Minute):
			s.T.Fatal("nobody asks the model for more")
		}
		if s.Within(time.Second, fmt.Sprintf("document.querySelector('#draft').textContent !== %q", before)) {
			s.shot(hold)
		}
	}
}

// once wants every message there, one time and in order.
func (s *studio) once(l lines) {
	s.T.Helper()
	var want []string
	for _, text := range []string{l.ask, l.more, l.answer, l.reply} {
		first, _, _ := strings.Cut(strings.TrimPrefix(text, "- "), "\n")
		want = append(want, first)
	}
	got := s.Eval("[...document.querySelectorAll('.message .text')].map((e) => e.innerText.split('\\n')[0]).join('\\n')")
	if got != strings.Join(want, "\n") {
		s.T.Errorf("the page shows\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// played is the picture of bot simulate: a bot that has just lost its connection
// to Telegram, has found it again, and asks before it writes a file.
func played(t *testing.T, l lines, scheme string) *studio {
	url, _ := startPage(t, t.TempDir())
	s := newStudio(t, l.lang, scheme, pageSide+termSide, low)
	s.visit(url + "#telegram/private")
	s.Until("document.querySelector('#state').classList.contains('up')")
	s.Eval(noteCut)
	s.Eval("document.querySelector('[data-cut=\"0\"]').click()")
	s.Until("window.wasCut && document.querySelector('#state').classList.contains('up')")
	s.Eval(fmt.Sprintf("(document.querySelector('#text').value = %q, document.querySelector('#composer').requestSubmit())", l.write))
	s.Until("document.querySelectorAll('.buttons button').length === 3")
	s.shot(0)
	return s
}
