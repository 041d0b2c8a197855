package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"

	"github.com/goccy/go-yaml"
)

// Channel is one instance in the section channels. The keys that every channel
// has are decoded; the rest belongs to the adapter.
type Channel struct {
	Name    string `yaml:"-"` // of the instance
	Type    string // of the adapter; default: Name
	Enabled bool
	Access
	// Stream shows a reply while it is written, where the platform can.
	Stream bool
	// Rate is "auto", "off" or what ParseRate reads.
	Rate string
	// Proxy is by which proxy the platform is called: an address, none, or "" as
	// the environment says.
	Proxy string
	// Decode fills a pointer to the adapter's struct with the remaining keys.
	// The struct holds the defaults before; the tags that it may have are those
	// of this package's structs: yaml (key; default the name in snake_case),
	// oneof, min, max and required. A field of type chat.Secret also takes
	// <key>_file. The error is an *Error with every problem. Never nil.
	Decode func(target any) error `yaml:"-"`

	blank report // without problems
	place *node
}

// Access says who may talk to the bot on a channel.
type Access struct {
	Allow   []string // sender ids; "*" is everybody
	Pairing bool     // a stranger's direct message gets a pairing code
	Group   string   `oneof:"mention|open|off"`
	Groups  []Group  // none: any group where an allowed sender speaks
	// GroupContext is how many messages of a group are kept that do not address
	// the bot, for when it is addressed.
	GroupContext int `min:"0" max:"100"`
}

// Group is a group where the bot listens: its id, or {id: …, members: true}.
type Group struct {
	ID      string
	Members bool // everybody there but bots is let in, there
}

func (g *Group) decode(d *decoder, n *node, key string) {
	if n.kind != table {
		d.value(n, key, field{name: "id"}.of(&g.ID))
		return
	}
	var form struct {
		ID      string `yaml:"id" required:"true"`
		Members bool
	}
	d.value(n, key, field{}.of(&form))
	*g = Group{ID: form.ID, Members: form.Members}
}

func (g Group) shown() any {
	if !g.Members {
		return g.ID
	}
	return yaml.MapSlice{{Key: "id", Value: g.ID}, {Key: "members", Value: true}}
}

// unheard are the groups that are named where none is heard.
func (c *Config) unheard() (all []string) {
	for _, ch := range c.Channels {
		if ch.Enabled && ch.Group == "off" && len(ch.Groups) > 0 {
			all = append(all, fmt.Sprintf("channels.%s.group is off: its groups are not heard; write group: mention when they are meant", ch.Name))
		}
	}
	return all
}

// numbered are the forms of ids on the platforms that know people by numbers. On
// Telegram anonymous administrators and channels write under the number of the
// group or channel, which is below 0.
var numbered = map[string]*regexp.Regexp{
	"telegram": regexp.MustCompile(`^-?[0-9]{1,20}$`),
	"discord":  regexp.MustCompile(`^[0-9]{1,20}$`),
}

// nobodies are the entries of allow that no sender can have.
func (c *Config) nobodies() (all []string) {
	for _, ch := range c.Channels {
		form := numbered[ch.Type]
		if !ch.Enabled || form == nil {
			continue
		}
		for i, id := range ch.Allow {
			if key := index("channels."+ch.Name+".allow", i); id != "*" && !form.MatchString(id) {
				all = append(all, fmt.Sprintf("%s is %s, which is nobody's id: people have numbers there, no names; who writes to the bot privately gets a pairing code, and the log names the id",
					key, got(c.origin.root.find(key))))
			}
		}
	}
	return all
}

// Errorf returns an *Error that points at a key of the section; key "" is the
// section itself.
func (c Channel) Errorf(key, format string, args ...any) error {
	r := c.blank
	path := join("channels", c.Name)
	if key != "" {
		path = join(path, key)
	}
	r.add(c.place.find(key), path, format, args...)
	return r.err()
}

// webType is the adapter of the console's chat page. Whoever uses it holds the
// console's token already, so its allow list starts open.
const webType = "web"

// newChannel returns the defaults of an instance.
func newChannel(name string) Channel {
	return Channel{
		Name: name, Type: name, Enabled: true, Stream: true, Rate: "auto",
		Access: Access{Pairing: true, Group: "mention", GroupContext: 20},
	}
}

// instanceName: the name stands in URLs, ids and file names.
var instanceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// reserved is the channel of reports that no platform delivers.
const reserved = "system"

// CheckName says what is wrong with the name of a channel.
func CheckName(name string) error {
	if instanceName.MatchString(name) && name != reserved {
		return nil
	}
	return fmt.Errorf("want a name of at most 32 letters, digits, - and _, other than %q", reserved)
}

// channels decodes the section channels; nil when the file has none.
func (d *decoder) channels(p *pair) []Channel {
	var all []Channel
	if p != nil && p.value.kind != null && p.value.kind != table {
		d.add(p.value, "channels", "want names with sections, got %s", p.value.kind)
	}
	if p != nil {
		seen := map[string]bool{}
		for _, c := range p.value.pairs {
			key, misnamed := join("channels", c.key), CheckName(c.key)
			switch {
			case seen[c.key]:
				d.add(c.place, key, "given twice: remove one of them")
			case misnamed != nil:
				hint := ""
				if meant := NearestType(c.key, nil); meant != "" {
					hint = fmt.Sprintf("; did you mean %s?", meant)
				}
				d.add(c.place, key, "%v%s", misnamed, hint)
			case c.value.kind != null && c.value.kind != table:
				d.add(c.value, key, "want a section with keys, got %s%s", c.value.kind, noColon(c.value))
			default:
				all = append(all, d.channel(c))
			}
			seen[c.key] = true
		}
	}
	if !slices.ContainsFunc(all, func(c Channel) bool { return c.Type == webType }) {
		web := &node{kind: table}
		all = append(all, d.channel(pair{key: webType, place: web, value: web}))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// channel decodes the keys that every channel has and keeps the others. Of a
// disabled one nothing else is looked at: its variables may be unset.
func (d *decoder) channel(p pair) Channel {
	key := join("channels", p.key)
	c := newChannel(p.key)
	c.blank, c.place = d.fresh(), p.value
	if p.value.kind == null {
		c.place = p.place
	}
	keys := fieldsOf(reflect.ValueOf(&c).Elem())
	mine, rest := *p.value, *p.value
	mine.kind, mine.pairs, rest.pairs = table, nil, nil
	switched := d.turned(p.key, p.value)
	confused := switched.unreadable(d.env)
	var first node
	for _, q := range p.value.pairs {
		name := canonical(q.key)
		switch {
		case name == "enabled" && (switched.open || confused != ""):
		case name == "enabled" || name == "type":
			first.pairs = append(first.pairs, q)
			fallthrough
		case slices.ContainsFunc(keys, func(f field) bool { return f.name == name }):
			mine.pairs = append(mine.pairs, q)
		default:
			rest.pairs = append(rest.pairs, q)
		}
	}
	first.kind = table
	d.section(&first, key, reflect.ValueOf(&c).Elem())
	if confused != "" {
		d.note(switched.given, join(key, "enabled"), confused)
	}
	if switched.open || confused != "" {
		c.Enabled = c.Type == webType || len(switched.keys) > 0
	}
	if off := switched.off(d.env); !c.Enabled && off != "" && d.warned != nil {
		*d.warned = append(*d.warned, off)
	}
	if c.Type == webType && c.Enabled {
		c.Allow = []string{"*"}
	}
	if c.Enabled {
		d.section(&mine, key, reflect.ValueOf(&c).Elem())
		d.pace(p.value, join(key, "rate"), c.Rate)
		d.way(p.value, join(key, "proxy"), c.Proxy)
	}
	c.Decode = func(target any) error {
		v, err := pointer(target)
		if err != nil {
			return fmt.Errorf("channel %s: %w", c.Name, err)
		}
		blank := d.fresh()
		own := &decoder{report: &blank, files: &[]string{}, why: switched.why(d.env)}
		own.section(&rest, key, v, keyNames(keys)...)
		return own.err()
	}
	return c
}

// pace checks the key rate of a channel.
func (d *decoder) pace(n *node, key, rate string) {
	if rate == "auto" || rate == "off" {
		return
	}
	if r, err := ParseRate(rate); err != nil || r == (Rate{}) {
		d.add(n.find("rate"), key, `want auto, off or a rate such as 20/s`)
	}
}
