package telegram

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/paste"
)

// Ways in which updates come.
const (
	modePoll    = "poll"
	modeWebhook = "webhook"
)

const publicAPI = "https://api.telegram.org"

// maxEmoji: an emoji is one character for people and may be several runes.
const maxEmoji = 8

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
	// LinkPreviews lets Telegram show previews of the addresses in answers, for
	// which it fetches them.
	LinkPreviews bool `yaml:"link_previews"`
	// AckReaction is the emoji that is put on what is meant for the bot as soon as
	// it is stored; "" = none.
	AckReaction string `yaml:"ack_reaction"`
}

var (
	tokenShape  = regexp.MustCompile(`^[A-Za-z0-9:_-]+$`)
	tokenForm   = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)
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
	foreign := paste.Foreign(string(c.Token))
	switch {
	case c.Token == "":
		errs = append(errs, errors.New("token: missing; @BotFather on Telegram gives one (/newbot), in the form 123456:ABC-def"))
	case foreign != "":
		errs = append(errs, fmt.Errorf("token: %s; expected the form 123456:ABC-def", foreign))
	case !tokenShape.MatchString(string(c.Token)):
		errs = append(errs, errors.New("token: holds characters that no token has; expected the form 123456:ABC-def"))
	}
	errs = append(errs, channels.CheckURL("api_base", c.APIBase))
	if utf8.RuneCountInString(c.AckReaction) > maxEmoji {
		errs = append(errs, fmt.Errorf("ack_reaction: %q is no emoji; one such as 👀 is expected", c.AckReaction))
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

// checkForm finds a token that is only a piece of one, or something else: the
// platform would refuse it at the start. Of one mistake complete has spoken.
func (c *Config) checkForm() error {
	token := string(c.Token)
	if paste.Foreign(token) == "" && tokenShape.MatchString(token) && !tokenForm.MatchString(token) {
		return errors.New("token: is not a bot token, or not the whole of it; @BotFather's is a number, a colon and the key, in the form 123456:ABC-def")
	}
	return nil
}

func (c *Config) checkWebhook() (errs []error) {
	if !secretShape.MatchString(string(c.WebhookSecret)) {
		errs = append(errs, errors.New("webhook_secret: mode webhook needs one, of 1 to 256 letters, digits, _ and -"))
	}
	if c.PublicURL == "" {
		return append(errs, errors.New("public_url: mode webhook needs the https address under which Telegram reaches this program (web.public_url is its default)"))
	}
	schemes := []string{"https"}
	if c.APIBase != publicAPI {
		schemes = nil // only a Bot API server of one's own calls plain http
	}
	return append(errs, channels.CheckURL("public_url", c.PublicURL, schemes...))
}
