package feishu

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// sdk writes a frame as the SDK's type.
func (f *frame) sdk() *larkws.Frame {
	s := &larkws.Frame{
		SeqID: f.seqID, LogID: f.logID, Service: f.service, Method: f.method,
		PayloadEncoding: f.encoding, PayloadType: f.kind, Payload: f.payload, LogIDNew: f.logIDNew,
	}
	for _, h := range f.headers {
		s.Headers = append(s.Headers, larkws.Header{Key: h.key, Value: h.value})
	}
	return s
}

// A frame is written byte for byte as the SDK writes it, and read back.
func TestFrameOfTheSDK(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &frame{
			seqID: rapid.Uint64().Draw(t, "seq"), logID: rapid.Uint64().Draw(t, "log"),
			service: rapid.Int32().Draw(t, "service"), method: rapid.Int32().Draw(t, "method"),
			encoding: rapid.String().Draw(t, "encoding"), kind: rapid.String().Draw(t, "kind"),
			payload: rapid.SliceOf(rapid.Byte()).Draw(t, "payload"), logIDNew: rapid.String().Draw(t, "new"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			f.headers = append(f.headers, header{rapid.String().Draw(t, "key"), rapid.String().Draw(t, "value")})
		}
		want, err := f.sdk().Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got := f.encode(); !bytes.Equal(got, want) {
			t.Fatalf("wrote\n%x, the SDK\n%x", got, want)
		}
		back, err := decodeFrame(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, back, cmp.AllowUnexported(frame{}, header{})); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
	})
}

// Whatever comes, the SDK and this package agree on whether it is a frame and
// on what it says.
func FuzzFrame(f *testing.F) {
	whole, _ := (&frame{service: 3, headers: []header{{headerType, typePing}}, payload: []byte("你好")}).sdk().Marshal()
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte{})
	f.Add([]byte{0x08, 1, 0x10, 2, 0x18, 3, 0x20, 4, 0x2a, 2, 0x0a, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s larkws.Frame
		wrong := s.Unmarshal(data)
		got, err := decodeFrame(data)
		if wrong == nil && err == nil {
			if diff := cmp.Diff(&s, got.sdk(), cmp.Comparer(func(a, b larkws.Header) bool { return a == b })); diff != "" {
				t.Errorf("%x (-SDK +own):\n%s", data, diff)
			}
		}
		if wrong == nil && err != nil && !odd(data) {
			t.Errorf("%x: the SDK reads it, we do not: %v", data, err)
		}
	})
}

// odd: fields with numbers or groups that no platform writes, which the two
// libraries treat differently.
func odd(data []byte) bool {
	err := fields(data, func(field protowire.Number, _ uint64, _ []byte) error {
		if field > fieldLogIDNew {
			return errFrame
		}
		return nil
	})
	return err != nil
}
