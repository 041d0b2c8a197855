package feishu

import (
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
)

// Every code of the platform's tables that a send may meet has its class, and
// what is not in them is a refusal.
func TestErrorTables(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	for kind, codes := range map[channels.Kind][]int{
		channels.Temporary: {
			1500, 1503, 1551, 1557, 1642, 1663, 1665, 1668, 2200, 5000, 10101, 10105, 10500, 105001, 1000003, 230049, 230101, 231015, 232096,
			234019, 234042, 300120, 200810,
		},
		channels.RateLimited:  {230020, 11232, 11233, 11247, 1000004, 1000005, 99991400, 99991403},
		channels.TooLong:      {230025, 200860, 234006},
		channels.Unauthorized: {10003, 10005, 10012, 10013, 10014, 10015, 11207, 11209, 11210, 99991401, 99991543, 99991662, 99991673},
		channels.Rejected: {
			230001, 230002, 230006, 230013, 230015, 230017, 230018, 230022, 230027, 230028, 230029, 230034, 230035, 230036, 230038, 230053,
			230054, 230055, 230071, 230072, 230073, 230074, 230075, 231001, 231002, 232009, 234041, 234043, 11205, 99991672, 99991676, 99992351,
			123456789,
		},
	} {
		for _, code := range codes {
			w.Fail(fake.Fault{Code: code, Msg: "x"})
			_, err := f.Send(channeltest.Bounded(t), outbound(at(ann), "1", "hello"))
			if channels.KindOf(err) != kind || err == nil {
				t.Errorf("%d: %v, want %v", code, err, kind)
			}
		}
	}
	for msg, kind := range map[string]channels.Kind{
		"Failed to create card content, ext=ErrCode: 11310; ErrMsg: card action is lock; code:230099":                        channels.Temporary,
		"Failed to create card content, ext=ErrCode: 200860; ErrMsg: Card content exceeds limit; code:230099":                channels.TooLong,
		"Failed to create card content, ext=ErrCode: 100290; ErrMsg: There is an invalid user resource(at/person); x:230099": channels.Rejected,
	} {
		w := newWorld(t, fake.Options{})
		w.Fail(fake.Fault{Code: codeCard, Msg: msg, Times: 3})
		_, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), outbound(at(ann), "1", "**hello**"))
		if channels.KindOf(err) != kind || err == nil {
			t.Errorf("%s: %v, want %v", msg, err, kind)
		}
	}
}

// Whatever says that a token is over, the call is made again with another.
func TestTokenCodes(t *testing.T) {
	for _, code := range []int{99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677} {
		w := newWorld(t, fake.Options{})
		f := w.channel(t, channels.Deps{})
		w.Fail(fake.Fault{Code: code, Msg: "x"})
		mustSend(t, f, outbound(at(ann), "1", "hello"))
		w.Fail(fake.Fault{Op: "image", Code: code, Msg: "x"})
		if _, err := f.SendMedia(channeltest.Bounded(t), outbound(at(ann), "2", ""), []channels.Upload{fileOf(chat.Image, "a.png", "image/png", dot())}); err != nil {
			t.Errorf("%d: an upload: %v", code, err)
		}
	}
}

// A code of no table whose words say that the trouble passes is no refusal; of a
// card it is one, since there are other forms.
func TestUnknownCodes(t *testing.T) {
	for msg, want := range map[string]channels.Kind{
		"system busy, please try again later": channels.Temporary, "request too frequent": channels.RateLimited, "no such thing": channels.Rejected,
	} {
		for _, status := range []int{200, 400} {
			w := newWorld(t, fake.Options{})
			f := w.channel(t, channels.Deps{})
			w.Fail(fake.Fault{Status: status, Code: 987654321, Msg: msg})
			if _, err := f.Send(channeltest.Bounded(t), outbound(at(ann), "1", "hello")); err == nil || channels.KindOf(err) != want {
				t.Errorf("%s: %v, want %v", msg, err, want)
			}
			w.Fail(fake.Fault{Code: 200999, Msg: msg})
			mustSend(t, f, outbound(at(ann), "2", "**hello**"))
		}
	}
}
