package config

import (
	"time"

	"magpie/chat"
)

// Log is the section log.
type Log struct {
	Level  string `oneof:"debug|info|warn|error"`
	Format string `oneof:"text|json"`
}

// Bus is the section bus. URL "" is the embedded server without a listener.
type Bus struct {
	URL       string // nats://a:4222,nats://b:4222; may hold a password
	Sync      string // "always", or a duration such as "10s"; embedded only
	Replicas  int    `min:"1" max:"5"`
	MaxStore  int64  `min:"0"` // bytes of the embedded store; 0 = three quarters of the disk
	CredsFile string
	TLS       TLS `yaml:"tls"`
}

// SyncInterval is the pause between two syncs of the embedded store; 0 means
// that every write is synced.
func (b Bus) SyncInterval() time.Duration {
	pause, err := time.ParseDuration(b.Sync)
	if err != nil {
		return 0
	}
	return pause
}

// TLS names the PEM files of a connection to the bus.
type TLS struct {
	CA   string `yaml:"ca"`
	Cert string
	Key  string
}

// Agent is the section agent.
type Agent struct {
	MaxIterations    int           `min:"1" max:"1000"` // model calls of one turn
	MaxTurns         int           `min:"1" max:"10000"`
	Busy             string        `oneof:"steer|queue|collect|interrupt"`
	Debounce         time.Duration `max:"10m"`
	SystemPromptFile string
	HistoryTokens    int `min:"0"` // 0 = 60 % of the model's context
}

// Subagent is the section subagent.
type Subagent struct {
	MaxIterations int           `min:"1" max:"1000"`
	MaxConcurrent int           `min:"1" max:"1000"`
	Timeout       time.Duration `min:"1s"`
}

// Media is the section media.
type Media struct {
	MaxBytes   int64         `min:"1"` // per file, in and out
	TTL        time.Duration `yaml:"ttl" min:"1m"`
	Transcribe Transcribe
	OSS        OSS `yaml:"oss"`
}

// Transcribe is an OpenAI-compatible speech-to-text server. Not Enabled: only
// the transcripts that platforms make.
type Transcribe struct {
	BaseURL string
	APIKey  chat.Secret
	Model   string
}

// Enabled says whether a server is configured.
func (t Transcribe) Enabled() bool { return t.BaseURL != "" }

// OSS is an Aliyun OSS bucket for files that platforms fetch by URL.
type OSS struct {
	Endpoint        string
	Bucket          string
	AccessKeyID     string
	AccessKeySecret chat.Secret
	CNAME           bool   `yaml:"cname"` // Endpoint is an own domain, bound to the bucket
	Region          string // "" = told from Endpoint
	Prefix          string
	PublicBaseURL   string        // "" = signed URLs
	URLTTL          time.Duration `yaml:"url_ttl" min:"1s"`
}

// Enabled says whether a bucket is configured.
func (o OSS) Enabled() bool { return o.Endpoint != "" }

// Cron is the section cron.
type Cron struct {
	Misfire        Misfire
	MaxJobsPerChat int `min:"1"`
}

// Security is the section security.
type Security struct {
	AuditLogEnabled bool
	PairingTTL      time.Duration `min:"1m"`
	Admins          []string      // "<channel>:<sender id>"
	RateLimit       RateLimit
	Budget          Budget
}

// RateLimit bounds what one sender may send. The zero Rate is no limit.
type RateLimit struct{ PerSender Rate }

// Budget bounds what models may cost; 0 is no limit.
type Budget struct {
	USDPerDay             float64 `yaml:"usd_per_day" min:"0"`
	TokensPerDay          int64   `min:"0"`
	PerSenderTokensPerDay int64   `min:"0"`
}

// Default returns the configuration without a file, before the environment is
// looked at.
func Default() Config {
	return Config{
		Home:     Home{DataDir: "./data"},
		Log:      Log{Level: "info", Format: "text"},
		Bus:      Bus{Sync: "always", Replicas: 1},
		Agent:    Agent{MaxIterations: 20, MaxTurns: 16, Busy: "steer"},
		Subagent: Subagent{MaxIterations: 15, MaxConcurrent: 4, Timeout: 20 * time.Minute},
		Media:    Media{MaxBytes: 20 << 20, TTL: 168 * time.Hour, OSS: OSS{Prefix: "magpie/", URLTTL: time.Hour}},
		Tools:    defaultTools(),
		Cron:     Cron{Misfire: Misfire{Policy: RunOnce}, MaxJobsPerChat: 100},
		Security: Security{
			AuditLogEnabled: true,
			PairingTTL:      10 * time.Minute,
			RateLimit:       RateLimit{PerSender: Rate{Count: 20, Per: time.Minute}},
		},
		Web: Web{Listen: "127.0.0.1:18990"},
	}
}
