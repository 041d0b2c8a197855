package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
	"rsc.io/qr"

	"magpie/internal/connect"
	"magpie/internal/setup"
)

// quiet is the margin of a code, in its squares.
const quiet = 2

// wantsScan tells the answers that ask for a code to scan.
func wantsScan(answer string) bool {
	switch strings.ToLower(strings.Trim(answer, " .\"'“”「」")) {
	case "scan", "qr", "扫码", "扫描", "二维码":
		return true
	}
	return false
}

// scanQuestion is a question that can be answered by a scan too. At a terminal
// that is the usual answer until somebody broke a scan off.
func (w *wizard) scanQuestion(q setup.Question) setup.Question {
	q.Text.English += ", or scan: make the app by a QR code"
	q.Text.Chinese += "，或输入“扫码”：扫二维码创建应用"
	if q.Usual == "" && w.tty && !w.byHand {
		q.Usual = w.tongue(words{English: "scan", Chinese: "扫码"})
	}
	return q
}

// scan makes an app and puts its keys among the values. When there is none in
// the end, it says why; made is false then.
func (w *wizard) scan(ctx context.Context, pf setup.Platform, values map[string]string) (made bool, err error) {
	w.say("Asking %s for a code …", "正在向 %s 请求二维码……", pf.Name)
	waiting, end := w.breakable(ctx)
	defer end()
	s := connect.Scan{Platform: pf.Name, Given: values, Show: w.showCode, Trouble: w.scanTrouble}
	app, err := s.Run(waiting)
	broken := waiting.Err() != nil
	switch {
	case err == nil:
		for key, value := range app.Values {
			values[key] = value
		}
		w.say("The app was made: %s", "应用已创建：%s", values[pf.Keys[0].Key])
		if app.Owner != "" {
			w.owners = append(w.owners, app.Owner)
			w.say("You may speak to it at once (allow: %s).", "你可以直接与它对话（allow: %s）。", app.Owner)
		}
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case w.silent:
		return false, fmt.Errorf("make the app: %w", err)
	case broken:
		w.byHand = true
		w.say("\nNo longer waiting for the scan.", "\n不再等待扫码。")
	case errors.Is(err, connect.ErrDeclined):
		w.say("FAIL  The scan was refused: %v.", "错误  扫码后被拒绝：%v。", err)
	case errors.Is(err, connect.ErrExpired):
		w.say("FAIL  The code has expired: nobody scanned it and agreed in time.", "错误  二维码已过期：没有人及时扫码并确认。")
	default:
		w.say("FAIL  No app could be made: %v", "错误  无法创建应用：%v", err)
		w.say("      Calls go through the proxy that HTTPS_PROXY names, where there is one.", "      如需代理，请设置 HTTPS_PROXY。")
	}
	w.say("Type the keys of an app that you made on the platform's page, or scan for a new code, skip to go on without %s, stop to end here.",
		"请输入在平台页面上创建的应用的凭证，或输入“扫码”重新获取二维码，“跳过”不添加 %s，“退出”就此结束。", pf.Name)
	w.offers = []setup.Action{setup.Skip, setup.Stop}
	return false, nil
}

// scanTrouble tells when the platform is out of reach, and when it is back.
func (w *wizard) scanTrouble(err error) {
	if err == nil {
		w.say("The platform answers again; still waiting for the scan.", "平台已恢复响应，继续等待扫码。")
		return
	}
	w.say("The platform did not answer well; it is asked again: %v", "平台没有正常响应，将继续询问：%v", err)
}

// showCode prints a link, and as a code too where it can be seen whole.
func (w *wizard) showCode(link string, good time.Duration) {
	if code, short := w.drawn(link); code != "" {
		fmt.Fprint(w.out, "\n"+code)
		if short {
			w.say("(The window is too small for the code with every permission; this one makes the app without them.)",
				"（窗口太小，放不下带全部权限的二维码；这个二维码创建的应用不带权限。）")
		}
	}
	w.say("\nScan it with the app on your phone, or open the link:\n%s", "\n请用手机 App 扫码，或打开链接：\n%s", link)
	w.say("Waiting for you to agree there, for %s at most. Ctrl-C: type the keys instead.", "等待你在手机上确认，最多 %s。按 Ctrl-C 改为手工输入。", life(good))
}

// life is a time in words that both languages have.
func life(d time.Duration) string {
	s := d.Round(time.Second).String()
	for _, rest := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, rest) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// drawn is the link as a code for the terminal, "" where there is none or it is
// too small. short says that the code is of the link without what it may do
// without.
func (w *wizard) drawn(link string) (code string, short bool) {
	out, ok := w.out.(*os.File)
	kind, _ := w.p.env("TERM")
	if !ok || !w.tty || !term.IsTerminal(int(out.Fd())) || kind == "" || kind == "dumb" {
		return "", false
	}
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil {
		return "", false
	}
	for _, text := range []string{link, without(link, "addons")} {
		c, err := qr.Encode(text, qr.L)
		if err == nil && c.Size+2*quiet <= width && (c.Size+1)/2+quiet <= height {
			return blocks(c), text != link
		}
	}
	return "", false
}

// without is a link without one of its parameters.
func without(link, parameter string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	q := u.Query()
	q.Del(parameter)
	u.RawQuery = q.Encode()
	return u.String()
}

// blocks draws a code, two rows of squares in a line of text, black on white
// whatever the colours of the terminal are.
func blocks(c *qr.Code) string {
	var b strings.Builder
	for y := -quiet; y < c.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -quiet; x < c.Size+quiet; x++ {
			switch above, below := c.Black(x, y), c.Black(x, y+1); {
			case above && below:
				b.WriteRune('█')
			case above:
				b.WriteRune('▀')
			case below:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}
