package feishu

import (
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

// PublicBase is the open platform of Feishu, for those who give no api_base.
const PublicBase = "https://open.feishu.cn"

const publicAPI = PublicBase

// Config is the section of one Feishu (or Lark) app.
type Config struct {
	// AppID and AppSecret stand on the app's page "Credentials & Basic Info".
	AppID     string      `yaml:"app_id"`
	AppSecret chat.Secret `yaml:"app_secret"`
	// APIBase is the open platform; "" = Feishu's, https://open.larksuite.com
	// is Lark's.
	APIBase string `yaml:"api_base"`
	// Mode is ws ("" too: long connection) or webhook.
	Mode string `yaml:"mode"`
	// EncryptKey encrypts and signs what the webhook gets.
	EncryptKey chat.Secret `yaml:"encrypt_key"`
	// VerificationToken stands in every event of the webhook.
	VerificationToken chat.Secret `yaml:"verification_token"`
}

var appIDShape = regexp.MustCompile(`^cli_[0-9A-Za-z_]+$`)

const where = "it stands in the developer console under "

// complete fills in defaults and reports everything that is wrong.
func (c *Config) complete() error {
	if c.APIBase == "" {
		c.APIBase = publicAPI
	}
	if c.Mode == "" {
		c.Mode = modeWS
	}
	c.APIBase = strings.TrimRight(c.APIBase, "/")
	var errs []error
	switch {
	case c.AppID != "" && paste.Foreign(c.AppID) != "":
		errs = append(errs, fmt.Errorf("app_id: %s; expected the form cli_0123456789abcdef", paste.Foreign(c.AppID)))
	case c.AppID == "":
		errs = append(errs, errors.New("app_id: missing; "+where+"Credentials & Basic Info, in the form cli_0123456789abcdef"))
	case !appIDShape.MatchString(c.AppID):
		errs = append(errs, fmt.Errorf("app_id: %q is not an App ID; expected the form cli_0123456789abcdef", c.AppID))
	}
	switch {
	case c.AppSecret == "":
		errs = append(errs, errors.New("app_secret: missing; "+where+"Credentials & Basic Info"))
	case appIDShape.MatchString(string(c.AppSecret)):
		errs = append(errs, errors.New("app_secret: is an App ID (cli_…); the App Secret stands below it in the developer console, under Credentials & Basic Info"))
	case paste.Foreign(string(c.AppSecret)) != "":
		errs = append(errs, fmt.Errorf("app_secret: %s", paste.Foreign(string(c.AppSecret))))
	case strings.ContainsAny(string(c.AppSecret), " \t\r\n"):
		errs = append(errs, errors.New("app_secret: holds blanks that no secret has"))
	}
	errs = append(errs, channels.CheckURL("api_base", c.APIBase))
	switch c.Mode {
	case modeWS:
	case modeWebhook:
		if c.EncryptKey == "" && c.VerificationToken == "" {
			errs = append(errs, errors.New("encrypt_key: mode webhook needs it (or at least verification_token) to know the platform; "+where+"Events & Callbacks, Encryption Strategy"))
		}
	default:
		errs = append(errs, fmt.Errorf("mode: %q is not known; choose %s or %s", c.Mode, modeWS, modeWebhook))
	}
	return errors.Join(errs...)
}
