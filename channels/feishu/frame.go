package feishu

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The frames of the long connection: protocol buffers, as the SDK describes
// them (v3.11.0 ws/pbbp2.pb.go, ws/const.go). They are read here, since the
// SDK's package brings a second protocol buffer library and a client of its
// own into the program; a test compares every frame with the SDK's type.
const (
	frameControl = 0 // frame.method
	frameData    = 1

	headerType      = "type"
	headerMessageID = "message_id"
	headerSum       = "sum"    // in how many frames an event came
	headerSeq       = "seq"    // which of them this is, from 0
	headerTook      = "biz_rt" // ms that the answer took
	typePing        = "ping"
	typePong        = "pong"
)

type frame struct {
	seqID, logID    uint64
	service, method int32
	headers         []header
	encoding, kind  string // of the payload
	payload         []byte
	logIDNew        string
}

type header struct{ key, value string }

func (f *frame) header(key string) string {
	for _, h := range f.headers {
		if h.key == key {
			return h.value
		}
	}
	return ""
}

// The numbers of the fields. The first four are always written, as the SDK
// does; so are the texts, empty or not.
const (
	fieldSeqID = iota + 1
	fieldLogID
	fieldService
	fieldMethod
	fieldHeaders
	fieldEncoding
	fieldKind
	fieldPayload
	fieldLogIDNew
)

func (f *frame) encode() []byte {
	var b []byte
	number := func(field protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	text := func(field protowire.Number, v string) {
		b = protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	number(fieldSeqID, f.seqID)
	number(fieldLogID, f.logID)
	number(fieldService, uint64(f.service)) // a negative one has ten bytes
	number(fieldMethod, uint64(f.method))
	for _, h := range f.headers {
		pair := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), h.key)
		pair = protowire.AppendString(protowire.AppendTag(pair, 2, protowire.BytesType), h.value)
		text(fieldHeaders, string(pair))
	}
	text(fieldEncoding, f.encoding)
	text(fieldKind, f.kind)
	if f.payload != nil {
		text(fieldPayload, string(f.payload))
	}
	text(fieldLogIDNew, f.logIDNew)
	return b
}

var errFrame = errors.New("a required field of the frame is missing or of a wrong type")

func decodeFrame(data []byte) (*frame, error) {
	f := &frame{}
	had := 0
	err := fields(data, func(field protowire.Number, number uint64, text []byte) error {
		if is := text == nil; field <= fieldLogIDNew && is != (field <= fieldMethod) {
			return errFrame
		}
		switch field {
		case fieldSeqID:
			f.seqID = number
		case fieldLogID:
			f.logID = number
		case fieldService:
			f.service = int32(number)
		case fieldMethod:
			f.method = int32(number)
		case fieldHeaders:
			h, err := decodeHeader(text)
			f.headers = append(f.headers, h)
			return err
		case fieldEncoding:
			f.encoding = string(text)
		case fieldKind:
			f.kind = string(text)
		case fieldPayload:
			f.payload = append([]byte{}, text...)
		case fieldLogIDNew:
			f.logIDNew = string(text)
		}
		if field <= fieldMethod {
			had |= 1 << field
		}
		return nil
	})
	if err == nil && had != 0b11110 {
		err = errFrame
	}
	return f, err
}

func decodeHeader(data []byte) (h header, err error) {
	had := 0
	err = fields(data, func(field protowire.Number, _ uint64, text []byte) error {
		if field > 2 {
			return nil
		}
		if text == nil {
			return errFrame
		}
		if had |= int(field); field == 1 {
			h.key = string(text)
		} else {
			h.value = string(text)
		}
		return nil
	})
	if err == nil && had != 3 {
		err = errFrame
	}
	return h, err
}

// fields goes through the fields of a message. text is nil for a number; other
// types are passed over.
func fields(data []byte, each func(field protowire.Number, number uint64, text []byte) error) error {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return fmt.Errorf("read a frame: %w", protowire.ParseError(n))
		}
		data = data[n:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(field, kind, data)
		}
		if n < 0 {
			return fmt.Errorf("read a frame: %w", protowire.ParseError(n))
		}
		data = data[n:]
		if kind != protowire.VarintType && kind != protowire.BytesType {
			if field <= fieldLogIDNew {
				return errFrame
			}
			continue
		}
		if err := each(field, number, text); err != nil {
			return err
		}
	}
	return nil
}
