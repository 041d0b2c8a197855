package qq

import (
	"cmp"
	"errors"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tencent-connect/botgo/dto"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// letter is the form in which a text is tried.
type letter struct {
	markdown bool
	keyboard bool
	quotes   string   // index, or else id, of the message that it shows as quoted
	hosts    []string // that the platform has refused by name
	inCode   bool     // they are hidden in code, too
	hide     hiding
	refused  map[feature]error // what the platform does not grant the account
}

// hiding is how much of a text is written so that QQ sees no address in it,
// besides the hosts that it has named.
type hiding int

const (
	hideNothing hiding = iota
	hideHosts          // what is clearly an address, outside code
	hideDots           // whatever could be taken for one, in code and file names too
)

// maxHosts is how many hosts are hidden one by one, each for one refusal.
const maxHosts = 4

// letter is the best form of a message that the account is known to have.
func (q *QQ) letter(msg chat.Outbound, p place) *letter {
	l := &letter{markdown: q.markdown()}
	l.keyboard = l.markdown && len(msg.Buttons) > 0 && q.learnt.works(asButtons)
	if strings.HasPrefix(msg.Addr.Chat, group) && !p.Event && p.ID != "" && msg.ReplyTo != "" && q.learnt.works(asQuote) {
		l.quotes = cmp.Or(p.Index, msg.ReplyTo)
	}
	return l
}

// markdown reports whether texts are tried as native markdown.
func (q *QQ) markdown() bool { return *q.cfg.Markdown && q.learnt.works(asMarkdown) }

// plainer drops what the platform refused; false when it was something else.
func (l *letter) plainer(err error) bool {
	switch {
	case l.keyboard && refusedWith(err, keyboardCodes()):
		l.keyboard = false
		l.note(asButtons, err, noKeyboardCodes())
	case l.markdown && refusedWith(err, markdownCodes()):
		l.markdown, l.keyboard = false, false
		l.note(asMarkdown, err, noMarkdownCodes())
	case refusedWith(err, urlCodes()), saidOf(err, ofAddresses):
		return l.hidden(err)
	case l.quotes != "" && mayBeTheQuote(err):
		l.quotes = ""
		l.note(asQuote, err, nil)
	case l.markdown && saidOf(err, ofTheForm):
		l.markdown, l.keyboard = false, false
	default:
		return false
	}
	return true
}

// hidden hides what the platform takes for an address: the host that it names,
// else all that look like one; formatting goes only when that does not help.
func (l *letter) hidden(err error) bool {
	if host := namedHost(err); host != "" && !slices.Contains(l.hosts, host) && len(l.hosts) < maxHosts {
		l.hosts = append(l.hosts, host)
		return true
	} else if host != "" && !l.inCode {
		l.inCode = true
		return true
	}
	switch {
	case l.hide < hideDots:
		l.hide++
	case l.markdown:
		l.markdown, l.keyboard = false, false
	default:
		return false
	}
	return true
}

// mayBeTheQuote: the platform does not say with which code it refuses one.
func mayBeTheQuote(err error) bool {
	return channels.KindOf(err) == channels.Rejected && !refusedWith(err, slices.Concat(repeatCodes(), absentCodes(), quotaCodes()))
}

// ofTheForm and ofAddresses find what a refusal is about that has a code which no
// table has.
var (
	ofTheForm   = regexp.MustCompile(`(?i)markdown|keyboard|按钮|模板`)
	ofAddresses = regexp.MustCompile(`(?i)\burls?\b|链接|外链|域名|网址`)
)

// saidOf: the words of a refusal say what is not taken, and its code says
// nothing. The tables lag behind the platform.
func saidOf(err error, what *regexp.Regexp) bool {
	var r *refusal
	return errors.As(err, &r) && channels.KindOf(err) == channels.Rejected && what.MatchString(r.text) &&
		!refusedWith(err, slices.Concat(refusalCodes(), windowCodes(), quotaCodes(), mediaCodes()))
}

// note notes that the account lacks a feature; no codes: whatever was said.
func (l *letter) note(f feature, err error, codes []int) {
	if codes != nil && !refusedWith(err, codes) {
		return
	}
	if l.refused == nil {
		l.refused = map[feature]error{}
	}
	l.refused[f] = err
}

// write writes a message in this form. Buttons that cannot be shown become
// lines.
func (l *letter) write(msg chat.Outbound) outgoing {
	text := mentioning(msg, l.text(msg.Text))
	if !l.keyboard {
		text += l.dotted(labels(msg.Buttons))
	}
	out := outgoing{Type: dto.TextMsg, Content: text}
	if l.markdown {
		out = outgoing{Type: dto.MarkdownMsg, Markdown: &markdown{Content: text}}
	}
	if l.keyboard {
		out.Keyboard = buttons(msg)
	}
	if l.quotes != "" {
		out.Quotes = &reference{ID: l.quotes}
	}
	return out
}

// text renders Markdown in this form.
func (l *letter) text(markdown string) string {
	switch {
	case l.markdown && l.hide == hideDots:
		return withoutDots(unlinked(rich(markdown), withoutHosts, true))
	case l.markdown && l.hide == hideHosts:
		return unlinked(rich(markdown), withoutHosts, false)
	case l.markdown && len(l.hosts) > 0:
		return unlinked(rich(markdown), func(text string) string { return withoutThese(text, l.hosts) }, l.inCode)
	case l.markdown:
		return rich(markdown)
	case l.hide == hideHosts:
		return harmless(render.PlainProse(markdown, withoutHosts))
	}
	return l.dotted(plain(markdown))
}

// dotted hides addresses in what is no Markdown.
func (l *letter) dotted(text string) string {
	switch {
	case l.hide == hideHosts:
		return withoutHosts(text)
	case l.hide == hideDots:
		return withoutDots(text)
	case len(l.hosts) > 0:
		return withoutThese(text, l.hosts)
	}
	return text
}

// words is a text as it is sent at first, which is what counts.
func (q *QQ) words(text string) string {
	if q.markdown() {
		return rich(text)
	}
	return plain(text)
}

func plain(text string) string { return harmless(render.Plain(text)) }

func rich(text string) string { return harmless(render.QQ(text)) }

// marks are what QQ reads as a mention, a command or a face wherever it stands
// (bot.q.qq.com/wiki/develop/api-v2/server-inter/message/trans/text-chain.html,
// read November 2026).
var marks = regexp.MustCompile(`(?i)<(?:[@#]|qqbot-|emoji:|faceType=)|@(?:everyone|all\b|全体成员)`)

// harmless breaks the marks by an invisible space: the model must not be able
// to call everybody.
func harmless(text string) string {
	return marks.ReplaceAllStringFunc(text, func(mark string) string { return mark[:1] + "\u200b" + mark[1:] })
}

// mentioning puts whom a message of a group is for before its text.
func mentioning(msg chat.Outbound, text string) string {
	id, _ := channels.Mentioned(msg)
	if id == "" || !strings.HasPrefix(msg.Addr.Chat, group) {
		return channels.Named(msg, text)
	}
	return `<qqbot-at-user id="` + id + `" /> ` + text
}

func labels(rows [][]chat.Button) string {
	var b strings.Builder
	for _, row := range rows {
		for _, button := range row {
			b.WriteString("\n- " + button.Label)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + harmless(b.String())
}

// maxLabel is the longest label of a button in characters
// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, read November 2026). A
// keyboard has five rows of five (from memory of the page on buttons; a
// keyboard that is refused becomes lines of text).
const maxLabel, maxRows, maxInRow = 10, 5, 5

// keyboard is a message's buttons. Those of one group are all spent when one
// was pressed: that is how they are taken away, for messages cannot be edited.
type keyboard struct {
	Content struct {
		Rows []row `json:"rows"`
	} `json:"content"`
}

type row struct {
	Buttons []button `json:"buttons"`
}

type button struct {
	ID     string `json:"id"`
	Group  string `json:"group_id"`
	Render look   `json:"render_data"`
	Action action `json:"action"`
}

type look struct {
	Label   string `json:"label"`
	Visited string `json:"visited_label"`
	Style   int    `json:"style"` // 1: blue frame
}

type action struct {
	Type       int        `json:"type"` // 1: calls back
	Permission permission `json:"permission"`
	Data       string     `json:"data"`
	Tips       string     `json:"unsupport_tips"`
}

type permission struct {
	Type int `json:"type"` // 2: everybody; who may press is access's business
}

func buttons(msg chat.Outbound) *keyboard {
	var k keyboard
	key, n := menuKey(msg.ID), 0
	for _, buttons := range channels.Rows(msg.Buttons, maxRows, maxInRow) {
		var r row
		for _, b := range buttons {
			n++
			label := b.Label
			if utf8.RuneCountInString(label) > maxLabel {
				label = cutRunes(label, maxLabel)
			}
			r.Buttons = append(r.Buttons, button{
				ID: key + "." + strconv.Itoa(n), Group: key, Render: look{Label: label, Visited: label, Style: 1},
				Action: action{Type: 1, Permission: permission{Type: 2}, Data: b.Data, Tips: b.Label},
			})
		}
		k.Content.Rows = append(k.Content.Rows, r)
	}
	return &k
}

// menuKey names a message with buttons before the platform has named it.
func menuKey(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	return strconv.FormatUint(h.Sum64(), 36)
}
