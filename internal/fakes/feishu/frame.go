package feishu

import (
	"encoding/binary"
	"errors"
)

// frame is what goes over the long connection, in protobuf (message Frame of
// the SDK's ws/pbbp2.proto): written by hand, so that it checks the SDK's.
type frame struct {
	seq, log        uint64
	service, method int32
	headers         [][2]string
	payload         []byte
}

// Methods of frames.
const (
	control = 0
	data    = 1
)

func (f *frame) header(name string) string {
	for _, h := range f.headers {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

func (f *frame) encode() []byte {
	var b []byte
	number := func(field int, v uint64) {
		b = binary.AppendUvarint(b, uint64(field)<<3)
		b = binary.AppendUvarint(b, v)
	}
	text := func(b []byte, field int, v []byte) []byte {
		b = binary.AppendUvarint(b, uint64(field)<<3|2)
		b = binary.AppendUvarint(b, uint64(len(v)))
		return append(b, v...)
	}
	number(1, f.seq)
	number(2, f.log)
	number(3, uint64(f.service))
	number(4, uint64(f.method))
	for _, h := range f.headers {
		b = text(b, 5, text(text(nil, 1, []byte(h[0])), 2, []byte(h[1])))
	}
	if f.payload != nil {
		b = text(b, 8, f.payload)
	}
	return b
}

var errFrame = errors.New("not a frame")

// fields calls fn for every field of a protobuf message.
func fields(b []byte, fn func(field uint64, number uint64, text []byte) error) error {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return errFrame
		}
		b = b[n:]
		value, n := binary.Uvarint(b)
		if n <= 0 {
			return errFrame
		}
		b = b[n:]
		var text []byte
		switch key & 7 {
		case 0:
		case 2:
			if value > uint64(len(b)) {
				return errFrame
			}
			text, b = b[:value], b[value:]
		default:
			return errFrame
		}
		if err := fn(key>>3, value, text); err != nil {
			return err
		}
	}
	return nil
}

func decodeFrame(b []byte) (*frame, error) {
	f := &frame{}
	err := fields(b, func(field, number uint64, text []byte) error {
		switch field {
		case 1:
			f.seq = number
		case 2:
			f.log = number
		case 3:
			f.service = int32(number)
		case 4:
			f.method = int32(number)
		case 5:
			var h [2]string
			err := fields(text, func(field, _ uint64, text []byte) error {
				if field == 1 || field == 2 {
					h[field-1] = string(text)
				}
				return nil
			})
			f.headers = append(f.headers, h)
			return err
		case 8:
			f.payload = text
		}
		return nil
	})
	return f, err
}
