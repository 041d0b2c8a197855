package command

import (
	"context"
	"strings"
)

func runHelp(_ context.Context, s *Set, r *request) (string, error) {
	var b strings.Builder
	b.WriteString(r.pick("Just write to me. These commands work at any time, also while I am busy:\n", "直接给我发消息即可。以下命令随时可用，我忙的时候也可以：\n"))
	for _, e := range table() {
		if e.wired != nil && !e.wired(&s.ports) {
			continue
		}
		b.WriteString("\n- `/" + r.pick(e.names[0], e.names[1]))
		if e.args != "" {
			b.WriteString(" " + e.args)
		}
		b.WriteString("` " + r.pick("– "+e.en, "– "+e.zh))
	}
	return b.String(), nil
}
