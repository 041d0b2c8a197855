package dingtalk

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/paste"
)

const (
	publicAPI  = "https://api.dingtalk.com"
	publicOAPI = "https://oapi.dingtalk.com"
	// usualKey is the streamed variable that DingTalk's AI card templates start
	// with.
	usualKey = "content"
)

// Config is the section of one DingTalk robot.
type Config struct {
	// ClientID and ClientSecret are the application's credentials (formerly
	// AppKey and AppSecret).
	ClientID     string      `yaml:"client_id"`
	ClientSecret chat.Secret `yaml:"client_secret"`
	// RobotCode names the robot; "" = ClientID, which it is for robots made in
	// an application of one's own.
	RobotCode string `yaml:"robot_code"`
	// APIBase and OAPIBase are DingTalk's two API servers; "" = DingTalk's own.
	APIBase  string `yaml:"api_base"`
	OAPIBase string `yaml:"oapi_base"`
	// CardTemplateID is the AI card in which replies are shown while they are
	// written; "" = replies come whole, as Markdown messages.
	CardTemplateID string `yaml:"card_template_id"`
	// CardKey is the template's streamed Markdown variable; "" = content.
	CardKey string `yaml:"card_key"`
	// CardButtonsKey is the template's variable with the list of buttons, each
	// with label and data; "" = the template has none, buttons become text.
	CardButtonsKey string `yaml:"card_buttons_key"`
	// WorkingSign is how the robot shows that it is at work where there is no
	// card: "emotion" puts one on the message that it answers and takes it away
	// again, two API calls; "none"; "" = emotion.
	WorkingSign string `yaml:"working_sign"`
}

// The values of WorkingSign.
const (
	emotionSign = "emotion"
	noSign      = "none"
)

var (
	idShape  = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	keyShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// complete fills in defaults and reports everything that is wrong.
func (c *Config) complete() error {
	def := func(v *string, d string) {
		if *v = strings.TrimSpace(*v); *v == "" {
			*v = d
		}
	}
	def(&c.ClientID, "")
	def(&c.RobotCode, c.ClientID)
	def(&c.APIBase, publicAPI)
	def(&c.OAPIBase, publicOAPI)
	def(&c.CardTemplateID, "")
	def(&c.CardButtonsKey, "")
	def(&c.WorkingSign, emotionSign)
	c.APIBase, c.OAPIBase = strings.TrimRight(c.APIBase, "/"), strings.TrimRight(c.OAPIBase, "/")
	const where = "the page \"Credentials and basic information\" of the application at https://open-dev.dingtalk.com shows it"
	var errs []error
	switch {
	case c.ClientID == "":
		errs = append(errs, errors.New("client_id: missing; "+where+" (Client ID, formerly AppKey)"))
	case paste.Foreign(c.ClientID) != "":
		errs = append(errs, fmt.Errorf("client_id: %s; expected the form ding0123456789abcdef", paste.Foreign(c.ClientID)))
	case !idShape.MatchString(c.ClientID):
		errs = append(errs, errors.New("client_id: holds characters that no Client ID has; expected the form ding0123456789abcdef"))
	}
	switch {
	case c.ClientSecret == "":
		errs = append(errs, errors.New("client_secret: missing; "+where+" (Client Secret, formerly AppSecret)"))
	case paste.Foreign(string(c.ClientSecret)) != "":
		errs = append(errs, fmt.Errorf("client_secret: %s", paste.Foreign(string(c.ClientSecret))))
	case string(c.ClientSecret) == c.ClientID:
		errs = append(errs, errors.New("client_secret: is the same as client_id; "+where+" (Client Secret, formerly AppSecret)"))
	case strings.ContainsFunc(string(c.ClientSecret), func(r rune) bool { return r <= ' ' || r > '~' }):
		errs = append(errs, errors.New("client_secret: holds blanks or other characters that no Client Secret has"))
	}
	if c.RobotCode != "" && c.RobotCode != c.ClientID && !idShape.MatchString(c.RobotCode) {
		errs = append(errs, errors.New("robot_code: holds characters that no robot code has; leave it empty when the robot was made in this application"))
	}
	if c.WorkingSign != emotionSign && c.WorkingSign != noSign {
		errs = append(errs, fmt.Errorf("working_sign: %q is neither emotion nor none", c.WorkingSign))
	}
	errs = append(errs, channels.CheckURL("api_base", c.APIBase), channels.CheckURL("oapi_base", c.OAPIBase))
	return errors.Join(append(errs, c.checkCard()...)...)
}

func (c *Config) checkCard() (errs []error) {
	if c.CardTemplateID == "" && (c.CardKey != "" || c.CardButtonsKey != "") {
		errs = append(errs, errors.New("card_key, card_buttons_key: these are variables of a card template; set card_template_id too"))
	}
	if c.CardTemplateID != "" && !idShape.MatchString(c.CardTemplateID) {
		errs = append(errs, errors.New("card_template_id: not the id of a template; the card platform shows it in the form 0000-….schema"))
	}
	if c.CardKey == "" {
		c.CardKey = usualKey
	}
	for name, key := range map[string]string{"card_key": c.CardKey, "card_buttons_key": c.CardButtonsKey} {
		if key != "" && !keyShape.MatchString(key) {
			errs = append(errs, fmt.Errorf("%s: %q is not the name of a variable; use letters, digits and _", name, key))
		}
	}
	if c.CardKey == c.CardButtonsKey {
		errs = append(errs, errors.New("card_buttons_key: the text and the buttons need variables of their own"))
	}
	return errs
}
