package discord

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/paste"
)

const publicAPI = "https://discord.com"

// Config is the section of one Discord bot.
type Config struct {
	// Token is the bot's token as the Developer Portal shows it, without "Bot ".
	Token chat.Secret `yaml:"token"`
	// APIBase is where /api/v9 is; "" = Discord's own.
	APIBase string `yaml:"api_base"`
	// LinkPreviews lets Discord show previews of the addresses in answers, for
	// which it fetches them.
	LinkPreviews bool `yaml:"link_previews"`
}

var (
	tokenShape = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	tokenForm  = regexp.MustCompile(`^[^.]+\.[^.]+\.[^.]+$`)
)

// complete fills in defaults and reports everything that is wrong.
func (c *Config) complete() error {
	if c.APIBase == "" {
		c.APIBase = publicAPI
	}
	c.APIBase = strings.TrimRight(c.APIBase, "/")
	var errs []error
	foreign := paste.Foreign(string(c.Token))
	switch {
	case c.Token == "":
		errs = append(errs, errors.New("token: missing; the Developer Portal (https://discord.com/developers/applications) gives one: your application, Bot, Reset Token"))
	case foreign != "":
		errs = append(errs, fmt.Errorf("token: %s", foreign))
	case !tokenShape.MatchString(string(c.Token)):
		errs = append(errs, errors.New("token: holds characters that no token has; expected the bot token (not the client secret or the public key), of the form MTk4NjIy.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"))
	case !tokenForm.MatchString(string(c.Token)):
		errs = append(errs, errors.New("token: is not a bot token, or not the whole of it; a bot token (not the application's id, client secret or public key) has three parts with dots between them, as in MTk4NjIy.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"))
	}
	err := channels.CheckURL("api_base", c.APIBase)
	if err == nil && strings.Contains(c.APIBase, "@") {
		err = errors.New("api_base: a name and a password in it would not be used")
	}
	return errors.Join(append(errs, err)...)
}
