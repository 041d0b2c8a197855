package console

import (
	"embed"
	"html"
	"net/http"
	"strings"
	"time"

	"magpie/internal/front"
)

//go:embed page
var pages embed.FS

// loginText is what login.html says, in the language of the browser.
type loginText struct {
	Lang, Title, Intro, Field, Button, Problem string
}

// loginWords are for a status that says what was wrong; 401 is said of a login
// that there was.
func loginWords(r *http.Request, status int) loginText {
	if strings.HasPrefix(strings.ToLower(r.Header.Get("Accept-Language")), "zh") {
		return loginText{
			Lang: "zh-CN", Title: "登录 Magpie", Field: "令牌", Button: "登录",
			Intro: "请输入令牌：用 Docker 时是 .env 里的 WEB_TOKEN；否则在数据目录的 web.token 文件里（启动时终端也会显示）。",
			Problem: map[int]string{
				http.StatusForbidden: "令牌不正确。", http.StatusTooManyRequests: "尝试次数过多，请一分钟后再试。",
				http.StatusUnauthorized: "登录已失效（满 30 天、令牌已更换，或程序更新后需要重新登录），请再次登录。",
			}[status],
		}
	}
	return loginText{
		Lang: "en", Title: "Log in to Magpie", Field: "Token", Button: "Log in",
		Intro: "Enter the token: WEB_TOKEN in .env with Docker, else the file web.token in the data folder (the terminal shows it at the start).",
		Problem: map[int]string{
			http.StatusForbidden: "This is not the token.", http.StatusTooManyRequests: "Too many attempts. Wait a minute.",
			http.StatusUnauthorized: "Your login has ended: it is 30 days old, the token has changed, or the program was updated and wants a new one. Log in again.",
		}[status],
	}
}

// writeLogin fills in the page by hand: html/template calls methods by their
// names, so with it the linker has to keep every method of the program, which
// is megabytes.
func (g *guard) writeLogin(rw http.ResponseWriter, r *http.Request, status int, next string) {
	page, err := pages.ReadFile("page/login.html")
	if err != nil {
		http.Error(rw, "login page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	said := status
	if len(r.CookiesNamed(g.cookieName())) == 0 && status == http.StatusUnauthorized {
		said = 0 // there was no login
	}
	t := loginWords(r, said)
	fill := []string{
		"{{.Lang}}", t.Lang, "{{.Title}}", t.Title, "{{.Intro}}", t.Intro, "{{.Field}}", t.Field,
		"{{.Button}}", t.Button, "{{.Problem}}", t.Problem, "{{.Next}}", next,
		"{{.Style}}", front.Link(r, "/login.css", nil), "{{.Action}}", front.Link(r, "/login", nil),
	}
	for i := 1; i < len(fill); i += 2 {
		fill[i] = html.EscapeString(fill[i])
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Header().Set("Cache-Control", "no-store")
	// With "no-referrer" browsers would call the form's origin "null".
	rw.Header().Set("Referrer-Policy", "same-origin")
	rw.WriteHeader(status)
	_, _ = strings.NewReplacer(fill...).WriteString(rw, string(page)) // the client is gone when this fails
}

func loginStyle(rw http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(rw, r, pages, "page/login.css")
}

// loginPage is for those who are logged out on purpose; others see it in place
// of the page they asked for.
func (g *guard) loginPage(rw http.ResponseWriter, r *http.Request) {
	if g.loggedIn(r, true) {
		redirect(rw, r, "/", nil)
		return
	}
	g.writeLogin(rw, r, http.StatusOK, "/")
}

func (g *guard) login(rw http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		answer(rw, http.StatusBadRequest, map[string]string{"error": "this is not a login form"})
		return
	}
	v := g.check(r, byForm, strings.TrimSpace(r.PostForm.Get("token")))
	status := map[verdict]int{right: http.StatusOK, wrong: http.StatusForbidden, tooOften: http.StatusTooManyRequests}[v]
	next := localPath(r.PostForm.Get("next"))
	switch {
	case r.Header.Get("Accept") == "application/json": // the page, which stays open meanwhile
		said := map[string]string{}
		if v == right {
			var cookie string
			cookie, said["key"] = g.newLogin()
			g.setCookie(rw, r, cookie, loginLasts)
		}
		answer(rw, status, said)
	case v == right:
		g.enter(rw, r, next, nil)
	default:
		g.writeLogin(rw, r, status, next)
	}
}

func (g *guard) logout(rw http.ResponseWriter, r *http.Request) {
	g.setCookie(rw, r, "", -time.Second)
	redirect(rw, r, "/login", nil)
}
