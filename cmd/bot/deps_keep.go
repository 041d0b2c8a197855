//go:build never

package main

import (
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "github.com/chromedp/chromedp"
	_ "github.com/ergochat/readline"
	_ "github.com/gabriel-vasile/mimetype"
	_ "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/jsonschema-go/jsonschema"
	_ "github.com/lmittmann/tint"
	_ "github.com/nats-io/nats-server/v2/server"
	_ "github.com/nats-io/nats.go"
	_ "github.com/oklog/ulid/v2"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/rivo/uniseg"
	_ "github.com/sashabaranov/go-openai"
	_ "github.com/spf13/cobra"
	_ "github.com/yuin/goldmark"
	_ "go.uber.org/goleak"
	_ "golang.org/x/image/draw"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "golang.org/x/text/unicode/norm"
	_ "golang.org/x/time/rate"
	_ "pgregory.net/rapid"
)
