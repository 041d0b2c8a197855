package qq

import (
	"hash/fnv"
	"regexp"
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
	hide     hiding
}

// hiding is how much of a text is written so that QQ sees no address in it.
type hiding int

const (
	hideNothing hiding = iota
	hideHosts          // what is clearly an address, outside code
	hideDots           // whatever could be taken for one, in code and file names too
)

// plainer drops what the platform refused; false when it was something else.
func (l *letter) plainer(err error) bool {
	switch {
	case l.keyboard && refusedWith(err, keyboardCodes()):
		l.keyboard = false
	case l.markdown && (refusedWith(err, markdownCodes()) || refusedWith(err, urlCodes())):
		l.markdown, l.keyboard = false, false
	case l.hide < hideDots && refusedWith(err, urlCodes()):
		l.hide++
	default:
		return false
	}
	return true
}

// write writes a message in this form. Buttons that cannot be shown become
// lines.
func (l *letter) write(q *QQ, msg chat.Outbound) outgoing {
	text := l.text(msg.Text)
	if !l.keyboard {
		text += l.hidden(labels(msg.Buttons))
	}
	if !l.markdown {
		return outgoing{Type: dto.TextMsg, Content: text}
	}
	out := outgoing{Type: dto.MarkdownMsg, Markdown: &markdown{Content: text}}
	if l.keyboard {
		out.Keyboard = buttons(msg)
	}
	return out
}

// text renders Markdown in this form.
func (l *letter) text(markdown string) string {
	switch {
	case l.markdown:
		return rich(markdown)
	case l.hide == hideHosts:
		return harmless(render.PlainProse(markdown, withoutHosts))
	}
	return l.hidden(plain(markdown))
}

// hidden hides addresses in what is no Markdown.
func (l *letter) hidden(text string) string {
	switch l.hide {
	case hideHosts:
		return withoutHosts(text)
	case hideDots:
		return withoutDots(text)
	}
	return text
}

// words is a text as it is sent at first, which is what counts.
func (q *QQ) words(text string) string {
	if q.cfg.Markdown {
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
