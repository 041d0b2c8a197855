package pdftext

import (
	"io"
	"math"
	"strings"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"
)

// The library reads the file; the text operators are followed here, because its
// own reading of them loses the spaces and line ends that are made by moving
// the pen, and the letters of fonts with both an encoding and a ToUnicode map.

// writer follows the text operators of one page (ISO 32000-1, 9.4).
type writer struct {
	out   strings.Builder
	fonts map[string]font
	font  font
	size  float64
	line  float64 // height of the line, by Tm
	pen   float64 // how far the pen has come since it was last placed
}

// font decodes text and knows how wide letters are, where that is simple.
type font struct {
	pdf     *pdf.Font
	unicode map[string]string // by code of one byte; nil: the library decodes
}

// These say from which distance on a gap is a space.
const (
	spaceKern = -180 // thousandths of the font size, in TJ
	spaceGap  = 0.15 // of the font size
	newLine   = 0.3  // of the font size: fonts side by side may differ a little
)

// pageText is the text of one page. It may panic on a bad one.
func pageText(page pdf.Page) string {
	w := writer{fonts: map[string]font{}}
	for _, name := range page.Fonts() {
		f := page.Font(name)
		w.fonts[name] = font{pdf: &f, unicode: toUnicode(f.V)}
	}
	contents := page.V.Key("Contents")
	if contents.Kind() == pdf.Null {
		return ""
	}
	pdf.Interpret(contents, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		w.do(op, args)
	})
	return w.out.String()
}

func (w *writer) do(op string, args []pdf.Value) {
	switch n := len(args); {
	case op == "BT" || op == "T*":
		w.newline()
	case op == "Tf" && n == 2:
		w.font, w.size = w.fonts[args[0].Name()], args[1].Float64()
	case (op == "Td" || op == "TD") && n == 2:
		w.move(args[0].Float64(), args[1].Float64())
	case op == "Tm" && n == 6:
		if y := args[5].Float64(); math.Abs(y-w.line) > newLine*w.size {
			w.line = y
			w.newline()
		}
		w.pen = 0
	case op == "Tj" && n == 1:
		w.show(args[0].RawString())
	case (op == "'" || op == `"`) && n > 0:
		w.newline()
		w.show(args[n-1].RawString())
	case op == "TJ" && n == 1:
		for i := range args[0].Len() {
			switch part := args[0].Index(i); part.Kind() {
			case pdf.String:
				w.show(part.RawString())
			case pdf.Integer, pdf.Real:
				w.pen -= part.Float64() / 1000 * w.size
				if part.Float64() < spaceKern {
					w.space()
				}
			}
		}
	}
}

// move places the pen relative to where it was placed last.
func (w *writer) move(x, y float64) {
	switch {
	case y != 0:
		w.newline()
	case w.pen > 0 && x-w.pen > spaceGap*w.size:
		w.space()
	}
	w.pen = 0
}

func (w *writer) show(raw string) {
	switch {
	case w.font.unicode != nil:
		for i := range len(raw) {
			w.out.WriteString(w.font.unicode[raw[i:i+1]])
		}
	case w.font.pdf != nil:
		w.out.WriteString(strings.ReplaceAll(w.font.pdf.Encoder().Decode(raw), "\x00", ""))
	}
	if w.font.pdf != nil && w.font.pdf.V.Key("Widths").Len() > 0 {
		for i := range len(raw) {
			w.pen += w.font.pdf.Width(int(raw[i])) / 1000 * w.size
		}
	}
}

func (w *writer) newline() { w.end("\n") }
func (w *writer) space()   { w.end(" ") }

// end writes white space where there is none.
func (w *writer) end(blank string) {
	if text := w.out.String(); text != "" && !strings.HasSuffix(text, blank) && !strings.HasSuffix(text, "\n") {
		w.out.WriteString(blank)
	}
}

// toUnicode reads the map of a simple font from codes to text; nil when it has
// none or the library uses it by itself. What was read before a mistake counts.
func toUnicode(v pdf.Value) (found map[string]string) {
	stream := v.Key("ToUnicode")
	if stream.Kind() != pdf.Stream || v.Key("Subtype").Name() == "Type0" {
		return nil
	}
	defer func() { _ = recover() }()
	pdf.Interpret(stream, func(stack *pdf.Stack, op string) {
		switch op {
		case "findresource", "defineresource", "begincmap":
			stack.Push(v) // a dictionary, any, is wanted by what follows
		case "beginbfchar", "beginbfrange":
			found = orNew(found)
			for stack.Len() > 0 { // so that only the entries are left at the end
				stack.Pop()
			}
		case "endbfchar":
			for stack.Len() >= 2 {
				to, from := stack.Pop().RawString(), stack.Pop().RawString()
				found[from] = utf16Text(to)
			}
		case "endbfrange":
			for stack.Len() >= 3 {
				to, high, low := stack.Pop(), stack.Pop().RawString(), stack.Pop().RawString()
				addRange(found, low, high, to)
			}
		}
	})
	return found
}

func orNew(m map[string]string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	return m
}

// addRange adds the codes from low to high, of one byte each.
func addRange(found map[string]string, low, high string, to pdf.Value) {
	if len(low) != 1 || len(high) != 1 {
		return
	}
	for code := int(low[0]); code <= int(high[0]); code++ {
		at := code - int(low[0])
		switch to.Kind() {
		case pdf.Array:
			found[string([]byte{byte(code)})] = utf16Text(to.Index(at).RawString())
		case pdf.String:
			units := []rune(utf16Text(to.RawString()))
			if len(units) > 0 {
				units[len(units)-1] += rune(at)
			}
			found[string([]byte{byte(code)})] = string(units)
		}
	}
}

func utf16Text(raw string) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	return string(utf16.Decode(units))
}

// writePages writes the text of all pages; a page that cannot be read is left
// out.
func writePages(doc *pdf.Reader, out io.Writer) error {
	for i := 1; i <= min(doc.NumPage(), maxPages); i++ {
		text := tryPage(doc, i)
		if text == "" {
			continue
		}
		if _, err := io.WriteString(out, text+"\n\n"); err != nil {
			return err
		}
	}
	return nil
}

func tryPage(doc *pdf.Reader, number int) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	page := doc.Page(number)
	if page.V.IsNull() {
		return ""
	}
	return strings.TrimSpace(pageText(page))
}
