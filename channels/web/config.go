package web

import (
	"errors"
	"fmt"
	"time"
)

// Config is the channel's section of the configuration. Zero fields mean the
// defaults named here.
type Config struct {
	// Sender is the sender id of whoever holds the console's token; it is what
	// allow lists and security.admins name. Default "owner".
	Sender string `yaml:"sender"`
	// MaxUpload is the largest file in bytes, in either direction. Default
	// 20 MiB.
	MaxUpload int64 `yaml:"max_upload"`
	// KeepMessages is how many messages of a conversation the page can show
	// again. Default 500.
	KeepMessages int `yaml:"keep_messages"`
	// KeepFor is how long they are kept. Default 30 days. Files are kept for
	// at most 7 days of it.
	KeepFor time.Duration `yaml:"keep_for"`
}

const (
	day = 24 * time.Hour
	// filesFor bounds how long uploads and downloads stay: the media store
	// keeps what the agent needs, these copies only serve the page.
	filesFor = 7 * day
	// maxKeep bounds keep_messages: a tab that opens reads all of them.
	maxKeep = 5000
	// maxUploadLimit bounds max_upload: files are kept in the state table.
	maxUploadLimit = 100 << 20
)

func defaults() Config {
	return Config{Sender: "owner", MaxUpload: 20 << 20, KeepMessages: 500, KeepFor: 30 * day}
}

func (c Config) check() error {
	var errs []error
	if c.Sender == "" {
		errs = append(errs, errors.New(`sender: want a sender id such as "owner", got ""`))
	}
	if c.MaxUpload < 1 || c.MaxUpload > maxUploadLimit {
		errs = append(errs, fmt.Errorf("max_upload: want 1 to %d bytes, got %d", maxUploadLimit, c.MaxUpload))
	}
	if c.KeepMessages < 1 || c.KeepMessages > maxKeep {
		errs = append(errs, fmt.Errorf("keep_messages: want 1 to %d, got %d", maxKeep, c.KeepMessages))
	}
	if c.KeepFor < time.Minute {
		errs = append(errs, fmt.Errorf("keep_for: want at least 1m, got %s", c.KeepFor))
	}
	return errors.Join(errs...)
}
