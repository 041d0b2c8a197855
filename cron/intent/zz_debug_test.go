package intent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	zone, _ := time.LoadLocation("America/New_York")
	for _, say := range strings.Split(os.Getenv("SAY"), "\n") {
		known := []Known{{"1", "\ncall mum"}, {"2", "\ngym"}, {"3", "\ntake my pills"}, {"4", "\nbuy milk"}, {"5", "\nteam meeting"}, {"6", "\npay rent"}, {"7", "\nwater the plants"}}
		if strings.ContainsFunc(say, func(r rune) bool { return r > 0x3000 && r < 0xa000 }) {
			known = []Known{{"1", "\n给妈妈打电话"}, {"2", "\n健身"}, {"3", "\n吃药"}, {"4", "\n买牛奶"}, {"5", "\n周会"}, {"6", "\n交房租"}, {"7", "\n浇花"}}
		}
		c := Context{Now: time.Date(2026, 11, 25, 10, 0, 0, 0, zone), Zone: zone, Known: func() []Known { return known }}
		tr := trimmed(say)
		s := newSense(say, tr, c)
		fmt.Printf("%s\n  none=%d asked=%d\n ", say, tr.At("none", 0), asks(tr))
		for _, m := range s.marks {
			fmt.Printf(" [%s %s|%s]", m.kind, m.arg, tr.Cut(m.from, m.to))
		}
		in := Read(say, c)
		fmt.Printf("\n  -> %s %s ref=%+v and=%v but=%v time=%q shift=%v text=%q maybe=%v what=%s q=%v times=%v\n", in.Kind, in.Op, in.Ref, in.And, in.But, in.Time, in.Shift, in.Text, in.Maybe, in.What, in.Question, in.Times)
	}
}
