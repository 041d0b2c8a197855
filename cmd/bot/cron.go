package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"magpie/internal/app"
)

const chatHelp = "A chat is CHANNEL:CHAT, the channel's name in the configuration and the chat's id, as telegram:1001."

func (p *program) cronCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cron", Short: "See, make and change reminders and jobs", Long: "See, make and change reminders and jobs.\n\n" + chatHelp}
	cmd.AddCommand(p.cronListCommand(), p.cronAddCommand(), p.cronUpdateCommand(), p.cronSnoozeCommand(), p.cronUndoCommand())
	cmd.AddCommand(p.cronExportCommand(),
		p.cronSetCommand("move ID TIME", "Give a job another time", `move abcdefgh27 tomorrow at 9:30`, func(in *app.CronInput, text string) { in.Schedule = text }),
		p.cronSetCommand("rename ID NAME", "Give a job another name for lists", "rename abcdefgh27 Stand-up", func(in *app.CronInput, text string) { in.Name = text }))
	for _, c := range [][2]string{
		{"remove", "Remove a job"},
		{"pause", "Stop a job until it is resumed"},
		{"resume", "Let a paused job go on"},
		{"run", "Deliver a job once, now, besides its schedule"},
		{"skip", "Leave out the next time of a job"},
		{"done", "End what a job has begun to remind of"},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: c[0] + " ID", Short: c[1], Args: wants(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return p.cronChange(cmd.Context(), app.CronInput{Action: c[0], ID: args[0]})
			},
		})
	}
	return cmd
}

func (p *program) cronChange(ctx context.Context, in app.CronInput) error {
	p.started = true
	var done app.CronDone
	err := p.operate(ctx, "cron.change", in, &done)
	return p.said(err, "%s\n", done.Text)
}

func (p *program) cronUpdateCommand() *cobra.Command {
	in := app.CronInput{Action: "update"}
	cmd := &cobra.Command{
		Use: "update ID", Short: "Give a job another time, text or name", Args: wants(1, 1),
		Long:    "Give a job another time, text or name. What the new time does not say stays as it was: \"5pm\" keeps the day.",
		Example: "  bot cron update abcdefgh27 --schedule \"every weekday at 09:30\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.ID = args[0]
			return p.cronChange(cmd.Context(), in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.Schedule, "schedule", "", "the new time, or by how much it is moved: \"an hour later\"")
	f.StringVar(&in.Message, "message", "", "the new text")
	f.StringVar(&in.Name, "name", "", "the new name for lists")
	return cmd
}

// cronSetCommand is cronUpdateCommand for one thing alone.
func (p *program) cronSetCommand(use, short, example string, set func(in *app.CronInput, text string)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: "  bot cron " + example, Args: wants(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := app.CronInput{Action: "update", ID: args[0]}
			set(&in, strings.Join(args[1:], " "))
			return p.cronChange(cmd.Context(), in)
		},
	}
}

func (p *program) cronExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export [CHAT]", Short: "Write the jobs of all chats, or of one, as a calendar file", Args: wants(0, 1),
		Long:    "Write the jobs of all chats, or of one, as a calendar file (iCalendar) to the standard output.\n\n" + chatHelp,
		Example: "  bot cron export telegram:1001 >reminders.ics",
		RunE: func(cmd *cobra.Command, args []string) error {
			p.started = true
			var done app.CronDone
			err := p.operate(cmd.Context(), "cron.export", app.CronInput{Chat: strings.Join(args, "")}, &done)
			return p.said(err, "%s", done.Text)
		},
	}
}

func (p *program) cronSnoozeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "snooze ID [TIME]", Short: "Let a job come once more: in ten minutes, or at TIME", Args: wants(1, -1),
		Example: "  bot cron snooze abcdefgh27 1 hour",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := app.CronInput{Action: "snooze", ID: args[0]}
			in.Schedule = strings.Join(args[1:], " ")
			return p.cronChange(cmd.Context(), in)
		},
	}
}

func (p *program) cronUndoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "undo CHAT", Short: "Take back the last change of a chat's reminders", Args: wants(1, 1),
		Long: "Take back the last change of a chat's reminders, within ten minutes of it.\n\n" + chatHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.cronChange(cmd.Context(), app.CronInput{Action: "undo", Chat: args[0]})
		},
	}
}

func (p *program) cronListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [CHAT]", Short: "List the jobs of all chats, or of one", Long: "List the jobs of all chats, or of one.\n\n" + chatHelp, Args: wants(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.started = true
			return p.cronList(cmd.Context(), strings.Join(args, ""), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the jobs as JSON, with the history of each")
	return cmd
}

func (p *program) cronList(ctx context.Context, chat string, asJSON bool) error {
	var all app.CronJobs
	if err := p.operate(ctx, "cron.list", app.CronInput{Chat: chat}, &all); err != nil {
		return err
	}
	if asJSON {
		out := json.NewEncoder(p.out)
		out.SetIndent("", "  ")
		if err := out.Encode(all); err != nil {
			return err
		}
	} else {
		if len(all.Jobs) == 0 && all.Damaged == "" {
			fmt.Fprintln(p.out, "there are no jobs")
		}
		for _, j := range all.Jobs {
			line := j.ID + "\t" + j.Chat + "\t" + j.Shown.When + "\t" + j.Shown.Title
			if j.Shown.Last != "" {
				line += "\t(last: " + j.Shown.Last + ")"
			}
			fmt.Fprintln(p.out, line)
		}
	}
	if all.Damaged != "" {
		return errors.New("some entries are damaged and were left alone: " + all.Damaged)
	}
	return nil
}

func (p *program) cronAddCommand() *cobra.Command {
	var in app.CronInput
	cmd := &cobra.Command{
		Use: "add CHAT SCHEDULE [MESSAGE...]", Short: "Make a reminder, or with --mode agent a task",
		Long: "Make a reminder, or with --mode agent a task for the bot.\n\n" + chatHelp + "\n" +
			"SCHEDULE is one argument: \"in 20 minutes\", \"every weekday at 09:00\", \"每天早上9点\", \"every 10m\",\n" +
			"2026-11-24T15:00, \"0 9 * * 1-5\". It is meant in the zone of the chat unless --tz says another.",
		Example: "  bot cron add telegram:1001 \"every weekday at 09:00\" Stand-up in ten minutes",
		Args:    wants(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.started = true
			in.Chat, in.Schedule, in.Message = args[0], args[1], strings.Join(args[2:], " ")
			var done app.CronDone
			err := p.operate(cmd.Context(), "cron.add", in, &done)
			return p.said(err, "%s\n", done.Text)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.Zone, "tz", "", "time zone, an IANA name")
	f.StringVar(&in.Mode, "mode", "", "notify (default): the message is delivered; agent: it is a task")
	f.StringVar(&in.Name, "name", "", "a short name for lists")
	f.StringVar(&in.Misfire, "misfire", "", "run_once, skip or run_if_within:10m")
	f.StringVar(&in.Sender, "sender", "", "id of the person whose job it is; without one only admins change it")
	f.BoolVar(&in.Direct, "direct", false, "it is a private chat with that person")
	f.StringVar(&in.Thread, "thread", "", "thread or topic of the chat")
	return cmd
}
