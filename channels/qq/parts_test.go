package qq

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
)

// A file of more than 5 MB goes in parts, whatever its kind; each part goes to
// its signed address without the token, and until the platform has it.
func TestLargeFilesGoInParts(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 700_000) // 11.2 MB: three parts
	for name, c := range map[string]struct {
		to     string
		up     channels.Upload
		faults []fake.Fault
		parts  int // calls of upload_part_finish
		whole  int // calls of files
	}{
		"to a person":     {ann, upOf(chat.File, "big.bin", "", large), nil, 3, 1},
		"to a group":      {crowd, upOf(chat.File, "大文件.bin", "", large), nil, 3, 1},
		"a picture":       {ann, upOf(chat.Image, "a.gif", "image/gif", append([]byte("GIF89a"), large...)), nil, 3, 1},
		"a small one":     {ann, upOf(chat.File, "small.bin", "", large[:partsFrom]), nil, 0, 1},
		"a part is late":  {ann, upOf(chat.File, "big.bin", "", large), []fake.Fault{{Op: "part", Times: 3, Status: 400, Code: 40093001}}, 6, 1},
		"over the day's":  {ann, upOf(chat.File, "big.bin", "", large[:10<<20]), []fake.Fault{{Op: "prepare", Status: 400, Code: 40093002}}, 0, 1},
		"not this kind":   {ann, upOf(chat.Image, "no.gif", "image/gif", large), nil, 6, 2},
		"not granted":     {ann, upOf(chat.File, "big.bin", "", large[:9<<20]), []fake.Fault{{Op: "prepare", Status: 403, Code: 11253}}, 0, 1},
		"the store is in": {ann, upOf(chat.File, "big.bin", "", large[:9<<20]), []fake.Fault{{Op: "put part", Times: 2, Status: 403}}, 0, 1},
		"it takes long":   {ann, upOf(chat.File, "big.bin", "", large), []fake.Fault{{Op: "put part", Skip: 2, Status: 403}}, 5, 1}, // signed addresses grow old
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			q := w.channel(t, channels.Deps{})
			for _, f := range c.faults {
				w.Fail(f)
			}
			if _, err := q.SendMedia(channeltest.Bounded(t), reminder(c.to, "m", ""), []channels.Upload{c.up}); err != nil {
				t.Fatal(err)
			}
			body, err := c.up.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer body.Close()
			var want bytes.Buffer
			if _, err := want.ReadFrom(body); err != nil {
				t.Fatal(err)
			}
			shown := w.Messages(c.to)
			if len(shown) != 1 || shown[0].File == nil || !bytes.Equal(shown[0].File.Data, want.Bytes()) {
				t.Fatal("the chat shows another file, or none")
			}
			if w.Calls("part") != c.parts || w.Calls("files") != c.whole {
				t.Errorf("%d and %d calls, want %d and %d", w.Calls("part"), w.Calls("files"), c.parts, c.whole)
			}
		})
	}
}

// What is too large for one call fails with words when it cannot go in parts.
func TestLargeFileWithoutParts(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{})
	w.Fail(fake.Fault{Op: "prepare", Status: 400, Code: 40093002, Text: "超过每日上传限额"})
	_, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, "m", ""), []channels.Upload{upOf(chat.File, "big.bin", "", make([]byte, maxWhole+1))})
	if channels.KindOf(err) != channels.Rejected || !strings.Contains(fmt.Sprint(err), "40093002") || w.Calls("files") != 0 {
		t.Errorf("%v, %d uploads", err, w.Calls("files"))
	}
}

// A file goes nowhere but to an https address.
func TestPartsGoToSafeAddressesOnly(t *testing.T) {
	q := plainQQ(t)
	for at, ok := range map[string]bool{
		"https://bucket.cos.ap-guangzhou.myqcloud.com/x?sign=1": true, "http://bucket.example/x": false, "https://user@host.example/x": false,
		"file:///etc/passwd": false, "": false, "https:///x": false,
	} {
		if err := q.storable(at); (err == nil) != ok {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// The parts are counted from 0 or from 1, as the platform likes.
func TestPartsFromZero(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), (maxWhole+1<<20)/16)
	w := newWorld(t, nil)
	w.Grant(fake.Policy{FromZero: true})
	q := w.channel(t, channels.Deps{})
	if _, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, "m", ""), []channels.Upload{upOf(chat.File, "big.bin", "", large)}); err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(ann); len(shown) != 1 || !bytes.Equal(shown[0].File.Data, large) {
		t.Error("the chat shows another file, or none")
	}
}

// What the platform calls a passing trouble is one, also where there is no other
// way to bring the file; and where the bot is muted the file is kept.
func TestUploadsInTrouble(t *testing.T) {
	small, large := upOf(chat.File, "a.bin", "", []byte("data")), upOf(chat.File, "a.bin", "", make([]byte, maxWhole+1))
	for name, c := range map[string]struct {
		up    channels.Upload
		fault fake.Fault
		kind  channels.Kind
		kept  bool
	}{
		"timed out":          {small, fake.Fault{Op: "files", Status: 400, Code: 850027, Text: "发送数据超时"}, channels.Temporary, false},
		"not stored":         {small, fake.Fault{Op: "files", Status: 400, Code: 40034004, Text: "富媒体信息转存失败"}, channels.Temporary, false},
		"in parts":           {large, fake.Fault{Op: "prepare", Status: 400, Code: 40093001, Text: "申请上传失败，请重试"}, channels.Temporary, false},
		"of the wrong form":  {small, fake.Fault{Op: "files", Status: 400, Code: 850019, Text: "不支持的文件格式"}, channels.Rejected, false},
		"over the day's":     {large, fake.Fault{Op: "prepare", Status: 400, Code: 40093002, Text: "超过今天发送文件容量上限"}, channels.Rejected, false},
		"the bot is muted":   {small, fake.Fault{Op: "files", Status: 400, Code: 850018, Text: "群被禁言或者机器人被禁言"}, channels.Rejected, true},
		"muted, a large one": {large, fake.Fault{Op: "prepare", Status: 400, Code: 850018, Text: "群被禁言或者机器人被禁言"}, channels.Rejected, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			q := w.channel(t, channels.Deps{})
			w.Fail(c.fault)
			send := func() error {
				_, err := q.SendMedia(channeltest.Bounded(t), reminder(crowd, "m", ""), []channels.Upload{c.up})
				return err
			}
			err := send()
			if c.kept {
				keptForLater(t, err)
			} else if err == nil || channels.KindOf(err) != c.kind {
				t.Errorf("%v, want %v", err, c.kind)
			}
			if err := send(); err != nil {
				t.Errorf("the next time: %v", err)
			}
		})
	}
}
