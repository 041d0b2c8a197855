package telegram

import (
	"context"
	"encoding/json"
	"fmt"

	"magpie/channels"
)

// link is where people find the bot.
func (u *user) link() string { return "https://t.me/" + u.Username }

// greet tells the operator that the bot is there, where, and what it cannot hear.
func (t *Telegram) greet() {
	me := t.me.Load()
	t.deps.Log.Info("telegram connected", "bot", me.Username, "link", me.link(), "mode", t.cfg.Mode)
	if me.Guest {
		t.deps.Log.Info("guest mode is on at @BotFather, and not supported: where the bot is no member it hears nothing")
	}
	if me.Business {
		t.deps.Log.Info("business mode is on at @BotFather, and not supported: messages to a connected account are not read")
	}
}

// Survey implements channels.Surveyor.
func (t *Telegram) Survey(ctx context.Context) ([]string, error) {
	me, err := t.whoAmI(ctx)
	if err != nil {
		return nil, err
	}
	var lacks []string
	if !me.JoinsGroups {
		lacks = append(lacks, "it cannot be added to groups: write /setjoingroups to @BotFather, choose @"+me.Username+" and Enable")
	}
	if !me.ReadsGroups {
		lacks = append(lacks, "privacy mode is on: of groups it is shown only what mentions or answers it, and commands, so `group: open` and what was said before a mention (group_context) are lost: "+
			"write /setprivacy to @BotFather, choose @"+me.Username+" and Disable, then remove it from the group and add it again (where it is an administrator it reads everything as it is)")
	}
	lacks = append(lacks, "people write to it, and add it to groups, at "+me.link())
	raw, err := t.api.call(ctx, "getWebhookInfo", nil)
	if err != nil {
		return lacks, err
	}
	var hook struct {
		URL   string `json:"url"`
		Error string `json:"last_error_message"`
	}
	if err := json.Unmarshal(raw, &hook); err != nil {
		return lacks, t.api.Fail("getWebhookInfo", channels.Temporary, err)
	}
	switch {
	case hook.URL != "" && t.cfg.Mode == modePoll:
		lacks = append(lacks, fmt.Sprintf("a webhook is set to %s: polling takes it away at the start, and the program there hears nothing more; give each program a token of its own", hook.URL))
	case t.cfg.Mode == modeWebhook && hook.URL != "" && hook.URL != t.hookURL():
		lacks = append(lacks, fmt.Sprintf("the webhook is set to %s and not to %s: the start changes that; does another program use the token?", hook.URL, t.hookURL()))
	case t.cfg.Mode == modeWebhook && hook.Error != "":
		lacks = append(lacks, "the last time, Telegram could not deliver to the webhook: "+hook.Error)
	}
	return lacks, nil
}
