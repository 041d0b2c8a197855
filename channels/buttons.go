package channels

import (
	"slices"

	"magpie/chat"
)

// Rows lays buttons out for a platform that shows at most most rows of at most
// wide buttons. Rows that fit stay as they are; else all buttons are spread
// evenly, in order. Beyond most times wide they have no place and are left out.
func Rows(rows [][]chat.Button, most, wide int) [][]chat.Button {
	fits := len(rows) <= most
	for _, row := range rows {
		fits = fits && len(row) <= wide
	}
	if fits {
		return rows
	}
	all := slices.Concat(rows...)
	all = all[:min(len(all), most*wide)]
	return slices.Collect(slices.Chunk(all, max(1, (len(all)+most-1)/most)))
}
