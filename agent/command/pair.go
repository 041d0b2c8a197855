package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

func runPair(ctx context.Context, s *Set, r *request) (string, error) {
	if !s.admin(r) {
		return r.pick("Only an admin of the bot may let people in.", "只有机器人的管理员可以批准配对。"), nil
	}
	token := strings.ToUpper(r.args)
	if token == "" || strings.ContainsAny(token, " \n\t") {
		return r.pick("Write the code that the person was shown: `/pair CODE`.", "请写上对方看到的配对码：`/配对 CODE`。"), nil
	}
	who, err := s.ports.Approve(ctx, token)
	if errors.Is(err, ErrNoCode) {
		return r.pick("There is no such code, or it has expired. The person can write to me again for a new one.", "没有这个配对码，或已过期。请对方再发一条消息获取新的配对码。"), nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(r.pick("%s may talk to me now.", "%s 现在可以和我对话了。"), code(cut(who))), nil
}
