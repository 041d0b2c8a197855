package render

import (
	"strings"

	"github.com/rivo/uniseg"
	extast "github.com/yuin/goldmark/extension/ast"
)

// widest is how far a column's cells are padded, in display columns; a longer
// cell sticks out instead of pushing all others off a phone's screen.
const widest = 40

// grid is a table: the head, then the rows.
type grid struct {
	rows  [][][]span
	align []extast.Alignment
}

func (w *walker) table(n *extast.Table) []block {
	g := grid{align: n.Alignments}
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row [][]span
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, w.spans(c))
		}
		g.rows = append(g.rows, row)
	}
	*w.tables++
	if w.d.table == nil || w.d.tables > 0 && *w.tables > w.d.tables {
		return w.code("", g.columns())
	}
	return []block{{text: w.d.table(g), solid: true}}
}

// columns writes a table with aligned columns. Chinese characters and emoji
// count two columns, as monospaced fonts show them.
func (g grid) columns() string {
	var rows [][]string
	var widths []int
	for _, cells := range g.rows {
		var row []string
		for _, c := range cells {
			text := strings.Join(strings.Fields(spelled(c)), " ")
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
		lines = append(lines, tableRow(row, widths, g.align))
		if i == 0 {
			lines = append(lines, tableRule(widths))
		}
	}
	return strings.Join(lines, "\n")
}

// items writes a table as a list, for platforms without tables: one item for
// each row, its first cell in bold, the others behind the names of their
// columns.
func (g grid) items(f *flavor) string {
	if len(g.rows) == 1 {
		return f.inline(embolden(g.line(0)))
	}
	var lines []string
	for r := 1; r < len(g.rows); r++ {
		lines = append(lines, "- "+f.line(g.line(r), false))
	}
	return strings.Join(lines, "\n")
}

// line is a row of items; row 0 is the head alone.
func (g grid) line(r int) []span {
	var out []span
	for i, cell := range g.rows[r] {
		cell = trimSpans(cell)
		if len(cell) == 0 {
			continue
		}
		if len(out) > 0 {
			out = append(out, span{text: " · "})
		}
		if r > 0 && i == 0 {
			cell = embolden(cell)
		}
		if r > 0 && i > 0 && i < len(g.rows[0]) {
			if head := trimSpans(g.rows[0][i]); len(head) > 0 {
				out = append(append(out, head...), span{text: ": "})
			}
		}
		out = append(out, cell...)
	}
	return out
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

// rule is the delimiter of a column of a Markdown table.
func rule(g grid, column int) string {
	if column < len(g.align) {
		switch g.align[column] {
		case extast.AlignLeft:
			return ":--"
		case extast.AlignRight:
			return "--:"
		case extast.AlignCenter:
			return ":-:"
		}
	}
	return "---"
}

// pipes writes a table for platforms that know them.
func pipes(f *flavor, g grid) string {
	var b strings.Builder
	for r, row := range g.rows {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + f.line(cell, true) + " |")
		}
		for range len(g.rows[0]) - len(row) {
			b.WriteString("  |")
		}
		if r == 0 {
			b.WriteString("\n|")
			for i := range row {
				b.WriteString(" " + rule(g, i) + " |")
			}
		}
		if r < len(g.rows)-1 {
			b.WriteString("\n")
		}
	}
	return b.String()
}
