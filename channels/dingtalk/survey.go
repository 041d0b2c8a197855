package dingtalk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"magpie/channels"
	"magpie/channels/rest"
)

// probe is a call that has no effect: DingTalk looks at what the application may
// do before it looks at what is asked.
type probe struct {
	method, path string
	lost         string // without the permission
	card, sign   bool   // only with a card template, only with the sign of work
}

func probes() []probe {
	return []probe{
		{http.MethodPost, "/v1.0/robot/oToMessages/batchSend", "answers later than 90 minutes after a message, reminders and files in private chats", false, false},
		{http.MethodPost, "/v1.0/robot/groupMessages/send", "the same in groups", false, false},
		{http.MethodPost, "/v1.0/robot/messageFiles/download", "pictures, voice messages and files that people send", false, false},
		{http.MethodPost, "/v1.0/robot/emotion/reply", "the sign that the bot is at work (working_sign)", false, true},
		{http.MethodPost, "/v1.0/card/instances/createAndDeliver", "cards", true, false},
		{http.MethodPut, "/v1.0/card/instances", "buttons of cards", true, false},
		{http.MethodPut, "/v1.0/card/streaming", "answers that grow in a card", true, false},
	}
}

// Survey asks for each permission that a feature needs, by calls without
// content: a refusal names the permission, anything else means that it is there.
func (t *DingTalk) Survey(ctx context.Context) (lacks []string, err error) {
	for _, p := range probes() {
		if p.card && t.cards == nil || p.sign && (t.cards != nil || t.cfg.WorkingSign == noSign) {
			continue
		}
		lack, e := t.lack(ctx, call{op: p.path, method: p.method, url: t.cfg.APIBase + p.path, in: struct{}{}})
		if err = errors.Join(err, e); lack != "" {
			lacks = append(lacks, p.lost+": "+lack)
		}
	}
	nothing := &rest.Form{Field: "media", Name: "none.txt", File: channels.Upload{
		Open: func(context.Context) (io.ReadCloser, error) { return http.NoBody, nil },
	}}
	lack, e := t.lack(ctx, call{op: "media/upload", url: t.cfg.OAPIBase + "/media/upload?type=file", form: nothing})
	if err = errors.Join(err, e); lack != "" {
		lacks = append(lacks, "files that the bot sends: "+lack)
	}
	return lacks, err
}

// lack makes a call without content and says what it lacks.
func (t *DingTalk) lack(ctx context.Context, k call) (string, error) {
	err := t.api.do(ctx, k, nil)
	var no *refusal
	if errors.As(err, &no) && no.denied() {
		scopes := strings.Join(no.scopes, ", ")
		if scopes == "" {
			scopes = "that its refusal does not name (" + strings.TrimSpace(no.Code+" "+no.Message) + ")"
		}
		return fmt.Sprintf("grant the permission %s (权限管理) and publish a version again", scopes), nil
	}
	if err != nil && channels.KindOf(err) != channels.Rejected && channels.KindOf(err) != channels.TooLong {
		return "", err
	}
	return "", nil
}

// denied reports that the application lacks a permission.
func (r *refusal) denied() bool {
	return len(r.scopes) > 0 || r.Code == "Forbidden.AccessDenied.AccessTokenPermissionDenied" || r.errcode == 88 || r.errcode == 60011
}
