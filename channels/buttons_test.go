package channels_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/channels"
	"magpie/chat"
)

// buttons are rows of these lengths, numbered in order.
func buttons(lengths ...int) (rows [][]chat.Button) {
	n := 0
	for _, length := range lengths {
		row := []chat.Button{}
		for range length {
			n++
			row = append(row, chat.Button{Label: fmt.Sprint(n), Data: fmt.Sprint(n)})
		}
		rows = append(rows, row)
	}
	return rows
}

func TestRows(t *testing.T) {
	for _, c := range []struct{ have, want []int }{
		{nil, nil},
		{[]int{1}, []int{1}},
		{[]int{1, 2, 5, 1, 1}, []int{1, 2, 5, 1, 1}},
		{[]int{1, 1, 1, 1, 1, 1}, []int{2, 2, 2}},
		{[]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []int{3, 3, 3, 3}},
		{[]int{6}, []int{2, 2, 2}},
		{[]int{25}, []int{5, 5, 5, 5, 5}},
		{[]int{26}, []int{5, 5, 5, 5, 5}},
	} {
		if diff := cmp.Diff(buttons(c.want...), channels.Rows(buttons(c.have...), 5, 5)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.have, diff)
		}
	}
}

// What fits is all there, in order, and nothing passes the measure.
func TestRowsKeepButtons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, wide := rapid.IntRange(1, 6).Draw(t, "most"), rapid.IntRange(1, 6).Draw(t, "wide")
		have := buttons(rapid.SliceOfN(rapid.IntRange(0, 9), 0, 9).Draw(t, "rows")...)
		got := channels.Rows(have, most, wide)
		if len(got) > most {
			t.Errorf("%d rows", len(got))
		}
		flat := func(rows [][]chat.Button) (all []chat.Button) {
			for _, row := range rows {
				all = append(all, row...)
			}
			return all
		}
		for _, row := range got {
			if len(row) > wide {
				t.Errorf("a row of %d", len(row))
			}
		}
		want := flat(have)
		want = want[:min(len(want), most*wide)]
		if diff := cmp.Diff(want, flat(got)); diff != "" {
			t.Error(diff)
		}
	})
}
