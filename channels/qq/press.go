package qq

import (
	"context"
	"net/http"
	"net/url"

	"magpie/channels"
	"magpie/chat"
)

// AnswerPress ends the waiting mark on the button; QQ shows no words with it,
// and takes the buttons away by itself. A press that is too old to answer is
// no error.
func (q *QQ) AnswerPress(ctx context.Context, _ chat.Address, ans chat.Answer) error {
	if ans.Press == "" {
		return nil
	}
	r := request{op: "interactions", method: http.MethodPut, path: "/interactions/" + url.PathEscape(ans.Press), body: map[string]int{"code": 0}}
	err := q.api.call(ctx, r, nil)
	if err != nil && channels.KindOf(err) == channels.Rejected {
		q.deps.Log.Debug("press not answered", "err", err)
		return nil
	}
	return err
}
