package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Schema returns the JSON Schema of the file for editors. sections holds the
// adapters' structs with their defaults (or pointers to them) by channel type.
func Schema(sections map[string]any) ([]byte, error) {
	cfg := Default()
	root := object(reflect.ValueOf(&cfg).Elem())
	properties := root["properties"].(map[string]any)
	properties["channels"] = channelsSchema(sections)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Magpie configuration"
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return append(data, '\n'), nil
}

// channelsSchema: an instance is of the type that it names, else of the type
// of its own name.
func channelsSchema(sections map[string]any) map[string]any {
	byType := map[string]any{}
	var others []any
	types := slices.Sorted(maps.Keys(sections))
	for _, name := range types {
		c := newChannel(name)
		one := object(reflect.ValueOf(&c).Elem())
		properties := one["properties"].(map[string]any)
		own := object(reflect.Indirect(reflect.ValueOf(sections[name])))
		maps.Copy(properties, own["properties"].(map[string]any))
		properties["type"] = map[string]any{"const": name}
		properties["enabled"] = map[string]any{"type": []string{"boolean", "string", "null"}, "pattern": `^$|` + variablePattern, "default": true}
		byType[name] = nullable(one)
		other := maps.Clone(one)
		other["required"] = []string{"type"}
		others = append(others, other)
	}
	return map[string]any{
		"type":                 "object",
		"properties":           byType,
		"additionalProperties": map[string]any{"anyOf": others},
	}
}

func nullable(schema map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

func object(v reflect.Value) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, f := range fieldsOf(v) {
		properties[f.name] = f.schema()
		if f.value.Type() == secretType {
			properties[f.name+"_file"] = map[string]any{"type": "string", "description": "a file that holds " + f.name}
		}
		if f.tag.Get("required") == "true" {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s
}

// variablePattern: a text with a variable may stand for any scalar.
const variablePattern = `\$\{`

func (f field) schema() map[string]any {
	v := f.value
	switch t := v.Interface().(type) {
	case time.Duration:
		return map[string]any{"type": []string{"string", "integer"}, "default": short(t), "examples": []string{"30s", "10m"}}
	case Rate:
		return map[string]any{"type": "string", "default": t.String(), "examples": []string{"20/1m"}}
	case Misfire:
		return misfireSchema()
	case Names:
		one := elementSchema(reflect.TypeFor[string]())
		return map[string]any{"type": []string{"array", "string"}, "items": one}
	case Group:
		return map[string]any{"anyOf": []any{elementSchema(reflect.TypeFor[string]()), map[string]any{
			"type": "object", "required": []string{"id"}, "additionalProperties": false,
			"properties": map[string]any{"id": elementSchema(reflect.TypeFor[string]()), "members": scalarSchema("boolean", false)},
		}}}
	case MCPServers:
		one := object(reflect.ValueOf(&MCPServer{Enabled: true}).Elem())
		return map[string]any{"type": []string{"object", "array"}, "items": one, "additionalProperties": one}
	}
	switch v.Kind() {
	case reflect.Struct:
		return object(v)
	case reflect.Pointer:
		f.value = reflect.New(v.Type().Elem()).Elem()
		s := f.schema()
		delete(s, "default") // nil is the adapter's default, which is not known here
		return s
	case reflect.Slice:
		return map[string]any{"type": "array", "items": elementSchema(v.Type().Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": elementSchema(v.Type().Elem())}
	case reflect.Bool:
		return scalarSchema("boolean", v.Bool())
	case reflect.Float32, reflect.Float64:
		return f.limits(scalarSchema("number", v.Float()))
	case reflect.String:
		return f.textSchema()
	}
	if v.CanInt() {
		return f.limits(scalarSchema("integer", v.Int()))
	}
	return map[string]any{}
}

func elementSchema(t reflect.Type) map[string]any {
	v := reflect.New(t)
	if p, ok := v.Interface().(prefilled); ok {
		p.defaults()
	}
	s := field{value: v.Elem()}.schema()
	delete(s, "default")
	return s
}

func (f field) textSchema() map[string]any {
	s := map[string]any{"type": []string{"string", "number"}} // 12345 is an id too
	if c := f.choices(); c != nil {
		s = map[string]any{"anyOf": []any{map[string]any{"enum": c}, map[string]any{"type": "string", "pattern": variablePattern}}}
	}
	if f.value.Type() != secretType && f.value.String() != "" {
		s["default"] = f.value.String()
	}
	return s
}

func scalarSchema(kind string, value any) map[string]any {
	return map[string]any{"type": []string{kind, "string"}, "pattern": variablePattern, "default": value}
}

func (f field) limits(s map[string]any) map[string]any {
	for tag, name := range map[string]string{"min": "minimum", "max": "maximum"} {
		if x, err := strconv.ParseFloat(f.tag.Get(tag), 64); err == nil && !math.IsNaN(x) {
			s[name] = x
		}
	}
	return s
}

func misfireSchema() map[string]any {
	within := map[string]any{
		"type":                 "object",
		"properties":           map[string]any{RunIfWithin: map[string]any{"type": "string", "examples": []string{"10m"}}},
		"required":             []string{RunIfWithin},
		"additionalProperties": false,
	}
	return map[string]any{"anyOf": []any{map[string]any{"enum": []string{RunOnce, Skip}}, within}, "default": RunOnce}
}
