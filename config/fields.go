package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	"magpie/chat"
)

// field is one key of a section. The tags of a section's struct are:
//
//	yaml:"name"      the key; without it the field's name in snake_case; "-" is no key
//	oneof:"a|b"      the accepted texts; an empty choice stands first ("|a|b")
//	min:"1" max:"9"  bounds of a number or a duration ("1s")
//	required:"true"  the key must be given
//
// An embedded struct adds its keys to the section.
type field struct {
	name  string
	value reflect.Value
	tag   reflect.StructTag
}

var (
	secretType   = reflect.TypeFor[chat.Secret]()
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// fieldsOf lists the keys of a struct in the order of its fields.
func fieldsOf(v reflect.Value) []field {
	var all []field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			all = append(all, fieldsOf(v.Field(i))...)
		case f.IsExported():
			if name == "" {
				name = snake(f.Name)
			}
			all = append(all, field{name: name, value: v.Field(i), tag: f.Tag})
		}
	}
	return all
}

func keyNames(fields []field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
		if f.value.Type() == secretType {
			names = append(names, f.name+"_file")
		}
	}
	return names
}

// choices returns the texts that the field takes; nil means any.
func (f field) choices() []string {
	if all, ok := f.tag.Lookup("oneof"); ok {
		return strings.Split(all, "|")
	}
	return nil
}

// pointer checks what a section is to be decoded into.
func pointer(target any) (reflect.Value, error) {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("decode configuration: want a pointer to a struct, got %T", target)
	}
	return v.Elem(), nil
}

// of returns the field with the value that p points to.
func (f field) of(p any) field {
	f.value = reflect.ValueOf(p).Elem()
	return f
}
