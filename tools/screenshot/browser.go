package screenshot

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"magpie/tools/shell/sandbox"
)

// The window that pages are shown in.
const (
	windowWidth  = 1280
	windowHeight = 800
)

const (
	maxMessage  = 96 << 20 // bytes of one message: a picture in base64
	exitDelay   = 2 * time.Second
	removeTries = 20
	removeWait  = 50 * time.Millisecond
)

// Chrome finds the browser: the configured one, or the first of the usual names
// in PATH; "" when there is none.
func Chrome(configured string) string {
	names := []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "chromium-headless-shell",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	}
	if configured != "" {
		names = []string{configured}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser is a Chromium of its own, with a profile that is thrown away, spoken
// to in the DevTools protocol over a pipe: no port is open to others on the
// machine. It is used by one goroutine.
type browser struct {
	profile string
	kill    func() // ends Chromium with all its processes
	wait    func() // until it has
	to      *os.File
	from    *bufio.Reader
	pipe    *os.File // what from reads
	part    []byte   // of a message that has not come whole
	stop    func() bool

	next    int
	session string
	events  func(method string, params json.RawMessage)
}

// startBrowser starts Chromium behind a proxy. It is killed, with its children,
// when ctx ends.
func startBrowser(ctx context.Context, o *Options, way *proxy) (*browser, error) {
	profile, err := os.MkdirTemp("", "magpie-browser-")
	if err != nil {
		return nil, err
	}
	b := &browser{profile: profile, events: func(string, json.RawMessage) {}}
	var wall *sandbox.Sandbox
	if o.Wall != nil {
		wall = o.Wall()
	}
	if wall != nil && !wall.Guards() && wall.Report().Kind == sandbox.Landlock {
		wall = nil // Chromium ends when it gets no socket of a file, and there they would lead to others'
	}
	if err := b.start(o.Chrome, way, wall); err != nil {
		return nil, errors.Join(err, os.RemoveAll(profile))
	}
	b.stop = context.AfterFunc(ctx, b.kill)
	return b, nil
}

func (b *browser) start(path string, way *proxy, wall *sandbox.Sandbox) error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, theirIn.Close(), ourOut.Close())
	}
	b.to, b.pipe, b.from = ourOut, ourIn, bufio.NewReaderSize(ourIn, 64<<10)
	if wall != nil {
		if _, err := exec.LookPath(path); err != nil { // inside, a shell would look
			return errors.Join(err, theirIn.Close(), theirOut.Close(), ourOut.Close(), ourIn.Close())
		}
		b.startWalled(wall, path, way, [2]*os.File{theirIn, theirOut})
		return nil
	}
	cmd := exec.Command(path, flags(b.profile, way.address(), false)...)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as --remote-debugging-pipe wants them
	cmd.Env = append(environment(b.profile), "TMPDIR="+b.profile)
	cmd.Dir = b.profile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = exitDelay
	err = cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close() // the child has its own
	if err != nil {
		return errors.Join(err, ourOut.Close(), ourIn.Close())
	}
	b.kill = func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // gone already is as good
	b.wait = func() { _ = cmd.Wait() }                                      // killed
	return nil
}

// Bounds of the browser in the sandbox, of each of its processes.
const (
	browserCPU   = 2 * time.Minute
	browserFile  = 256 << 20
	browserFiles = 4096
)

// startWalled starts Chromium in the sandbox, where it reaches its profile, the
// system's programs and fonts, and no socket of the machine. Its own sandbox
// needs namespaces, which nobody gets there, so it is left out: the wall around
// all of it is the stronger one of the two for what lies outside.
//
// Where the network can be guarded, the kernel sees to it that the proxy is the
// only way out.
func (b *browser) startWalled(wall *sandbox.Sandbox, path string, way *proxy, ends [2]*os.File) {
	network, address := sandbox.Open, way.address()
	if wall.Guards() {
		network, address = sandbox.Guarded, "http://"+sandbox.ProxyAddress
	}
	command := append([]string{path}, flags(b.profile, address, true)...)
	read := []string{"/var/cache/fontconfig", "/etc/chromium", "/etc/chromium.d", "/etc/opt/chrome", "/usr/local/share/fonts"}
	if real, err := filepath.EvalSymlinks(command[0]); err == nil && !wall.Readable(real) {
		read = append(read, filepath.Dir(real))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer ends[1].Close()
		defer ends[0].Close()
		// A shell puts the pipes where --remote-debugging-pipe wants them.
		_, _ = wall.Run(ctx, sandbox.Command{ // how it ends shows at the pipe
			Args: append([]string{"/bin/sh", "-c", `exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null`}, command...),
			Env:  environment(b.profile), Dir: b.profile, Stdin: ends[0], Stdout: ends[1],
			Network: network, Proxy: way.take,
			Places: &sandbox.Places{
				Read: there(read), Write: []string{b.profile}, Sockets: true,
				Limits: sandbox.Limits{CPU: browserCPU, File: browserFile, Files: browserFiles},
			},
		})
	}()
	b.kill, b.wait = cancel, func() { <-ended }
}

// there are the paths that exist.
func there(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Stat(p)
		return err != nil
	})
}

// flags of Chromium: no way out but the proxy (also not for loopback, WebRTC,
// QUIC and names), nothing of its own over the network, nothing kept.
func flags(profile, proxy string, walled bool) []string {
	all := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + profile,
		fmt.Sprintf("--window-size=%d,%d", windowWidth, windowHeight),
		"--proxy-server=" + proxy, "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-features=DnsOverHttps,AsyncDns,MediaRouter,Translate,OptimizationHints,AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps",
		"--disable-domain-reliability", "--disable-client-side-phishing-detection", "--disable-breakpad", "--disable-crash-reporter",
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain",
		"--block-new-web-contents", "--disable-file-system", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
	}
	if walled || os.Geteuid() == 0 { // Chromium refuses its sandbox to root
		all = append(all, "--no-sandbox")
	}
	if walled { // whoever begins as a copy of another process counts its open files in /proc, and gives up without
		all = append(all, "--no-zygote", "--in-process-gpu")
	}
	return append(all, "about:blank")
}

// environment has none of the bot's variables but harmless ones.
func environment(home string) []string {
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// close ends the browser and removes its profile.
func (b *browser) close() error {
	b.stop()
	b.kill()
	b.wait()
	_, _ = b.to.Close(), b.pipe.Close()
	// A process that is just dying may still write.
	for range removeTries {
		if os.RemoveAll(b.profile) == nil {
			return nil
		}
		time.Sleep(removeWait)
	}
	return fmt.Errorf("remove the browser's profile %q: %w", filepath.Base(b.profile), os.RemoveAll(b.profile))
}

// message is one of the DevTools protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// call asks the browser and waits for its answer; result may be nil. It ends
// when the browser does.
func (b *browser) call(method string, params, result any) error {
	id, err := b.send(method, params)
	if err != nil {
		return err
	}
	for {
		m, err := b.read(time.Time{})
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if m.ID != id {
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("%s: the browser says %q", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	}
}

func (b *browser) send(method string, params any) (int, error) {
	b.next++
	raw, err := json.Marshal(message{ID: b.next, Session: b.session, Method: method, Params: params})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	return b.next, nil
}

// until hands out events until ok is true or the time is over, which is no
// error.
func (b *browser) until(ok func() bool, end time.Time) error {
	for !ok() {
		switch _, err := b.read(end); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// read takes one message; events go to the handler. No time is no deadline.
func (b *browser) read(end time.Time) (message, error) {
	if err := b.pipe.SetReadDeadline(end); err != nil {
		return message{}, err
	}
	raw, err := b.line()
	if err != nil {
		return message{}, err
	}
	var m struct {
		message
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return message{}, fmt.Errorf("message of the browser: %w", err)
	}
	if m.Method != "" {
		b.events(m.Method, m.Params)
	}
	return m.message, nil
}

// line reads up to the next NUL. Nothing is lost at a deadline: what has come of
// a message is kept for the next time.
func (b *browser) line() ([]byte, error) {
	for {
		piece, err := b.from.ReadSlice(0)
		b.part = append(b.part, piece...)
		switch {
		case err == nil:
			line := b.part[:len(b.part)-1]
			b.part = nil
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) {
				err = errGone
			}
			return nil, err
		case len(b.part) > maxMessage:
			return nil, errors.New("the browser's answer is too large")
		}
	}
}

var errGone = errors.New("the browser has ended")
