package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// parsed is what came of decoding a call's arguments.
type parsed struct {
	v   any
	err error
}

// decode reads the arguments, once for all who want them.
func (c *call) decode() (any, error) {
	if c.parsed == nil {
		v, err := decode(c.raw)
		c.parsed = &parsed{v, err}
	}
	return c.parsed.v, c.parsed.err
}

// decoded is the value of the arguments, and their text when they are no JSON.
func (c *call) decoded() any {
	v, err := c.decode()
	if err != nil {
		return c.raw
	}
	return v
}

// parse reads a model's arguments: a JSON object, or a JSON string that holds
// one. Nothing at all and null are an empty object, which is what models write
// for tools without parameters.
func (c *call) parse() (map[string]any, error) {
	v, err := c.decode()
	if err != nil {
		return nil, Errorf(InvalidArgs, "the arguments are no valid JSON: %w; want one JSON object with the parameters", err)
	}
	if text, ok := v.(string); ok {
		if v, err = decode(text); err != nil {
			return nil, Errorf(InvalidArgs, "the arguments are a JSON string that holds no JSON: %w; want one JSON object with the parameters", err)
		}
	}
	switch v := v.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	default:
		return nil, Errorf(InvalidArgs, "want one JSON object with the parameters, got %s", kindOf(v))
	}
}

// decode reads exactly one JSON value; numbers stay as they were written.
func decode(text string) (any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text after the end of the object")
	}
	return v, nil
}

// encode writes canonical arguments: keys in order, no HTML escapes.
func encode(values any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(values); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// kindOf names the JSON type of a decoded value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if _, ok := whole(v); ok {
			return "integer"
		}
		return "number"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return "value"
}
