package fs

import (
	"context"
	"fmt"
	"path"

	"magpie/tools"
	"magpie/tools/fs/fence"
)

// held counts what a walk leaves out because of the policy.
type held struct {
	fence          *fence.Fence
	base           string // where the walk began, as the policy writes it
	denied, asking int
}

// back says whether an entry is left out, with all below it.
func (h *held) back(ctx context.Context, e entry) bool {
	name := path.Join(h.base, e.path)
	var more []string
	if e.twins {
		more = h.fence.Names(name)
	}
	switch tools.Visits(ctx, name, more...) {
	case tools.Deny:
		h.denied++
	case tools.Ask:
		h.asking++
	default:
		return false
	}
	return true
}

// said tells what was left out, without names; "" nothing was.
func (h *held) said() string {
	text := ""
	if h.denied > 0 {
		text = fmt.Sprintf("%d entries are left out by the policy of this bot.\n", h.denied)
	}
	if h.asking > 0 {
		text += fmt.Sprintf("%d entries are left out because the policy asks a person about them; name the file or folder itself to have it asked.\n", h.asking)
	}
	return text
}
