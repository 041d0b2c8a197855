package telegram

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"magpie/chat"
)

// Ways in which updates come.
const (
	modePoll    = "poll"
	modeWebhook = "webhook"
)

const publicAPI = "https://api.telegram.org"

// Config is the section of one Telegram bot.
type Config struct {
	// Token is the bot's token as @BotFather gives it.
	Token chat.Secret `yaml:"token"`
	// APIBase is the server of the Bot API; "" = Telegram's own.
	APIBase string `yaml:"api_base"`
	// Mode is poll ("" too) or webhook.
	Mode string `yaml:"mode"`
	// WebhookSecret is what Telegram has to present at the webhook.
	WebhookSecret chat.Secret `yaml:"webhook_secret"`
	// PublicURL is where the world reaches web.listen, without /hooks.
	PublicURL string `yaml:"public_url"`
}

var (
	tokenShape  = regexp.MustCompile(`^[A-Za-z0-9:_-]+$`)
	secretShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// complete fills in defaults and reports everything that is wrong.
func (c *Config) complete() error {
	if c.APIBase == "" {
		c.APIBase = publicAPI
	}
	if c.Mode == "" {
		c.Mode = modePoll
	}
	c.APIBase = strings.TrimRight(c.APIBase, "/")
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	var errs []error
	switch {
	case c.Token == "":
		errs = append(errs, errors.New("token: missing; @BotFather on Telegram gives one (/newbot), in the form 123456:ABC-def"))
	case !tokenShape.MatchString(string(c.Token)):
		errs = append(errs, errors.New("token: holds characters that no token has; expected the form 123456:ABC-def"))
	}
	if err := checkURL(c.APIBase, true); err != nil {
		errs = append(errs, fmt.Errorf("api_base: %w", err))
	}
	switch c.Mode {
	case modePoll:
	case modeWebhook:
		errs = append(errs, c.checkWebhook()...)
	default:
		errs = append(errs, fmt.Errorf("mode: %q is not known; choose %s or %s", c.Mode, modePoll, modeWebhook))
	}
	return errors.Join(errs...)
}

func (c *Config) checkWebhook() (errs []error) {
	if !secretShape.MatchString(string(c.WebhookSecret)) {
		errs = append(errs, errors.New("webhook_secret: mode webhook needs one, of 1 to 256 letters, digits, _ and -"))
	}
	if c.PublicURL == "" {
		return append(errs, errors.New("public_url: mode webhook needs the https address under which Telegram reaches this program"))
	}
	// Only a Bot API server of one's own calls plain http.
	if err := checkURL(c.PublicURL, c.APIBase != publicAPI); err != nil {
		errs = append(errs, fmt.Errorf("public_url: %w", err))
	}
	return errs
}

// checkURL never repeats the address: it may hold a password.
func checkURL(s string, plainHTTP bool) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("not an address such as https://example.org")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !plainHTTP) {
		return fmt.Errorf("scheme %q is not accepted; use https", u.Scheme)
	}
	return nil
}
