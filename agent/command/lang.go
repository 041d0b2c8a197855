package command

import (
	"context"
	"strings"

	"magpie/agent/settings"
)

func runLang(ctx context.Context, s *Set, r *request) (string, error) {
	var lang string
	switch strings.ToLower(r.args) {
	case "":
		return r.pick("I speak English here. `/lang zh` changes it to Chinese, `/lang auto` follows you.",
			"这里使用中文。`/语言 en` 改用英文，`/语言 自动` 跟随您。"), nil
	case "en", "english", "英文", "英语":
		lang = settings.English
	case "zh", "cn", "chinese", "zh-cn", "中文", "汉语", "简体中文":
		lang = settings.Chinese
	default:
		if !isDefault(r.args) {
			return r.pick("I know `en`, `zh` and `auto`.", "可以选择 `zh`、`en` 或 `自动`。"), nil
		}
	}
	if err := s.ports.Settings.Change(ctx, r.d.Addr.Session(), func(set *settings.Settings) { set.Lang = lang }); err != nil {
		return "", err
	}
	r.set.Lang = lang
	r.follow(ctx)
	if lang == "" {
		return r.pick("The language follows you now.", "语言现在跟随您。"), nil
	}
	return r.pick("I speak English here from now on.", "现在这里使用中文。"), nil
}
