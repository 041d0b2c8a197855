package qq

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/paste"
)

// Ways in which events come.
const (
	modeWS      = "ws"
	modeWebhook = "webhook"
)

// Ways in which files go to the platform.
const (
	uploadAuto   = "auto"
	uploadOSS    = "oss"
	uploadBase64 = "base64"
)

// The platform's addresses: since August 2026 its pages know one for
// everything, and the older two still answer (read November 2026; nothing says
// until when). Where the configuration names none, both are tried.
const (
	publicAPI   = "https://api.bot.qq.com"
	publicToken = "https://api.bot.qq.com"
	olderAPI    = "https://api.sgroup.qq.com"
	olderToken  = "https://bots.qq.com"
)

// Config is the section of one QQ bot.
type Config struct {
	// AppID and AppSecret are the bot's credentials of q.qq.com.
	AppID     string      `yaml:"app_id"`
	AppSecret chat.Secret `yaml:"app_secret"`
	// APIBase is the server of the API, TokenBase that of access tokens; "" =
	// the platform's own, at whichever of its addresses answers.
	APIBase   string `yaml:"api_base"`
	TokenBase string `yaml:"token_base"`
	// Mode is ws ("" too) or webhook.
	Mode string `yaml:"mode"`
	// Markdown sends native markdown and keyboards; what the platform refuses
	// goes as plain text. nil = yes.
	Markdown *bool `yaml:"markdown"`
	// Upload is auto ("" too), oss or base64.
	Upload string `yaml:"upload"`
	// ActivePerDay is how many messages a chat may get in a day that are no
	// replies; nil = as many as the platform allows.
	ActivePerDay *int `yaml:"active_per_day"`
	// ActivePerMonth is from when the platform counted months. 0 still means
	// none; any other number has no effect.
	ActivePerMonth *int `yaml:"active_per_month"`
	// InputNotify shows "typing…" in private chats. The platform may count it
	// as one of the four replies to a message. nil = yes.
	InputNotify *bool `yaml:"input_notify"`

	moves bool // neither base was given: the older addresses do as well
}

var digits = regexp.MustCompile(`^[0-9]+$`)

// complete fills in defaults and reports everything that is wrong. oss says
// whether there is a place for public files.
func (c *Config) complete(oss bool) error {
	anywhere := c.APIBase == "" && c.TokenBase == ""
	c.defaults()
	c.moves = anywhere
	var errs []error
	switch {
	case c.AppID == "":
		errs = append(errs, errors.New("app_id: missing; it stands at q.qq.com under 开发设置 (development settings) as AppID"))
	case paste.Foreign(c.AppID) != "":
		errs = append(errs, fmt.Errorf("app_id: %s; want digits only, such as 102000000", paste.Foreign(c.AppID)))
	case !digits.MatchString(c.AppID):
		errs = append(errs, errors.New("app_id: want digits only, such as 102000000"))
	}
	if c.AppSecret == "" {
		errs = append(errs, errors.New("app_secret: missing; q.qq.com shows it once under 开发设置 (development settings) as AppSecret"))
	} else if foreign := paste.Foreign(string(c.AppSecret)); foreign != "" {
		errs = append(errs, fmt.Errorf("app_secret: %s", foreign))
	} else if strings.ContainsAny(string(c.AppSecret), " \t\r\n") {
		errs = append(errs, errors.New("app_secret: holds blanks, which no secret does"))
	}
	errs = append(errs, channels.CheckURL("api_base", c.APIBase), channels.CheckURL("token_base", c.TokenBase))
	if c.Mode != modeWS && c.Mode != modeWebhook {
		errs = append(errs, fmt.Errorf("mode: %q is not known; choose %s or %s", c.Mode, modeWS, modeWebhook))
	}
	switch c.Upload {
	case uploadAuto, uploadBase64:
	case uploadOSS:
		if !oss {
			errs = append(errs, errors.New("upload: oss needs the section media.oss; choose auto or base64 without it"))
		}
	default:
		errs = append(errs, fmt.Errorf("upload: %q is not known; choose %s, %s or %s", c.Upload, uploadAuto, uploadOSS, uploadBase64))
	}
	for key, n := range map[string]*int{"active_per_day": c.ActivePerDay, "active_per_month": c.ActivePerMonth} {
		if n != nil && *n < 0 {
			errs = append(errs, fmt.Errorf("%s: want 0 or more", key))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) defaults() {
	for _, d := range []struct {
		at    *string
		value string
	}{
		{&c.APIBase, publicAPI}, {&c.TokenBase, publicToken}, {&c.Mode, modeWS}, {&c.Upload, uploadAuto},
	} {
		if *d.at == "" {
			*d.at = d.value
		}
	}
	c.APIBase, c.TokenBase = strings.TrimRight(c.APIBase, "/"), strings.TrimRight(c.TokenBase, "/")
	if c.ActivePerDay == nil && c.ActivePerMonth != nil && *c.ActivePerMonth == 0 {
		c.ActivePerDay = c.ActivePerMonth
	}
	yes := true
	c.InputNotify = cmp.Or(c.InputNotify, &yes)
	c.Markdown = cmp.Or(c.Markdown, &yes)
}
