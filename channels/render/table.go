package render

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// widest is how far a column's cells are padded, in display columns; a longer
// cell sticks out instead of pushing all others off a phone's screen.
const widest = 40

// table writes a table with aligned columns. Chinese characters and emoji
// count two columns, as monospaced fonts show them.
func (w *walker) table(n *extast.Table) string {
	var rows [][]string
	var widths []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			text := w.cell(c)
			if len(row) == len(widths) {
				widths = append(widths, 0)
			}
			if width := uniseg.StringWidth(text); width > widths[len(row)] {
				widths[len(row)] = min(width, widest)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	lines := make([]string, 0, len(rows)+1)
	for i, row := range rows {
		lines = append(lines, tableRow(row, widths, n.Alignments))
		if i == 0 {
			lines = append(lines, tableRule(widths))
		}
	}
	return strings.Join(lines, "\n")
}

func (w *walker) cell(n ast.Node) string {
	return strings.Join(strings.Fields(spelled(w.spans(n))), " ")
}

func tableRow(row []string, widths []int, align []extast.Alignment) string {
	var b strings.Builder
	for i, text := range row {
		if i > 0 {
			b.WriteString(" | ")
		}
		gap := max(0, widths[i]-uniseg.StringWidth(text))
		left := 0
		if i < len(align) {
			switch align[i] {
			case extast.AlignRight:
				left = gap
			case extast.AlignCenter:
				left = gap / 2
			}
		}
		b.WriteString(strings.Repeat(" ", left) + text + strings.Repeat(" ", gap-left))
	}
	return strings.TrimRight(b.String(), " ")
}

func tableRule(widths []int) string {
	parts := make([]string, len(widths))
	for i, n := range widths {
		parts[i] = strings.Repeat("-", max(n, 1))
	}
	return strings.Join(parts, "-+-")
}
