package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"magpie/internal/need"
)

// metricNames are the metrics of the running program, for those who ask for
// them.
type metricNames struct {
	kinds  map[string]string
	labels map[string][]string
	values map[string]float64 // by name and labels
	used   map[string]bool
	exprs  []string // of the dashboard
}

var (
	promQuoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	promName   = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	promRange  = regexp.MustCompile(`\[[^\]]*\]`)
	promBy     = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
	promBraces = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	promSelect = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}`)
	promMatch  = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"`)
	promLabel  = regexp.MustCompile(`^\s*([a-z_]+)\s*(?:=~|!~|!=|=)\s*""\s*$`)
)

// promWords are the words of PromQL that the files may use.
var promWords = strings.Fields("sum max min count rate increase delta changes histogram_quantile time vector and or on by")

// labelsOf are the labels that a metric has in Prometheus.
func (m *metricNames) labelsOf(name string) []string {
	return append([]string{"instance", "job", "le"}, m.labels[m.base(name)]...)
}

// base is the name under which a series of a histogram is exposed.
func (m *metricNames) base(name string) string {
	for _, end := range []string{"_bucket", "_sum", "_count"} {
		if short, ok := strings.CutSuffix(name, end); ok && m.kinds[short] == "histogram" {
			return short
		}
	}
	return name
}

// check wants an expression to be well formed as far as can be seen without a
// parser, and to ask for nothing that the program does not say.
func (m *metricNames) check(t *testing.T, where, expr string) {
	t.Helper()
	m.checkValues(t, where, expr)
	bare := promQuoted.ReplaceAllString(expr, `""`)
	for _, pair := range []string{"()", "[]", "{}"} {
		if strings.Count(bare, pair[:1]) != strings.Count(bare, pair[1:]) {
			t.Errorf("%s: %s is not balanced in %s", where, pair, expr)
		}
	}
	for _, r := range promRange.FindAllString(bare, -1) {
		if _, err := model.ParseDuration(strings.Trim(r, "[]")); err != nil && r != "[$__rate_interval]" {
			t.Errorf("%s: %s in %s: %v", where, r, expr, err)
		}
	}
	var grouped []string
	for _, by := range promBy.FindAllStringSubmatch(bare, -1) {
		grouped = append(grouped, promName.FindAllString(by[1], -1)...)
	}
	rest := promBy.ReplaceAllString(promRange.ReplaceAllString(bare, ""), "")
	for _, sel := range promBraces.FindAllStringSubmatch(rest, -1) {
		for _, matcher := range strings.Split(sel[2], ",") {
			l := promLabel.FindStringSubmatch(matcher)
			if l == nil || !slices.Contains(m.labelsOf(sel[1]), l[1]) {
				t.Errorf("%s: %s has no label for %q in %s", where, sel[1], matcher, expr)
			}
		}
	}
	rest = promBraces.ReplaceAllString(rest, "$1")
	var has []string
	for _, name := range promName.FindAllString(strings.ReplaceAll(rest, `""`, ""), -1) {
		if slices.Contains(promWords, name) {
			continue
		}
		base := m.base(name)
		switch kind := m.kinds[base]; {
		case name == "up": // of Prometheus itself
		case kind == "":
			t.Errorf("%s: the program has no metric %s", where, name)
		case kind == "histogram" && base == name:
			t.Errorf("%s: %s is a histogram and has no value of its own", where, name)
		}
		m.used[base] = true
		has = append(has, m.labelsOf(name)...)
	}
	for _, l := range grouped {
		if !slices.Contains(has, l) {
			t.Errorf("%s: no metric has the label %s in %s", where, l, expr)
		}
	}
}

// fixedLabels are those whose values the program sets, each from its start on or
// as soon as there is anything to say.
var fixedLabels = []string{"queue", "state", "stat", "result", "event", "kind", "category"}

// checkValues wants everything that an expression asks of a label with few
// values to be a value that the program exports: queue="inn" would never ring.
func (m *metricNames) checkValues(t *testing.T, where, expr string) {
	t.Helper()
	for _, sel := range promSelect.FindAllStringSubmatch(expr, -1) {
		for _, match := range promMatch.FindAllStringSubmatch(sel[2], -1) {
			label, wanted := match[1], []string{regexp.QuoteMeta(match[3])}
			if !slices.Contains(fixedLabels, label) || match[3] == "" {
				continue
			}
			if strings.HasSuffix(match[2], "~") {
				wanted = strings.Split(match[3], "|")
			}
			for _, want := range wanted {
				re, err := regexp.Compile("^(?:" + want + ")$")
				if err != nil || !slices.ContainsFunc(m.exported(sel[1], label), re.MatchString) {
					t.Errorf("%s: %s has no %s %q, but %q (%v)", where, sel[1], label, want, m.exported(sel[1], label), err)
				}
			}
		}
	}
}

// checkEvents wants the events that are set to 0 at the start to be those that
// a dispatcher counts.
func (m *metricNames) checkEvents(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("../../channels/dispatch/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of the dispatcher: %v", err)
	}
	var counted []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`opt\.Count\("([a-z_]+)"\)`).FindAllStringSubmatch(string(text), -1) {
			counted = append(counted, call[1])
		}
	}
	slices.Sort(counted)
	if diff := cmp.Diff(slices.Compact(counted), m.exported("magpie_outbound_events_total", "event")); diff != "" {
		t.Errorf("events (counted, exported): %s", diff)
	}
}

// exported are the values of a metric's label.
func (m *metricNames) exported(name, label string) (all []string) {
	for key := range m.values {
		of, pairs, _ := strings.Cut(key, "{")
		for _, pair := range promMatch.FindAllStringSubmatch(pairs, -1) {
			if of == m.base(name) && pair[1] == label && !slices.Contains(all, pair[3]) {
				all = append(all, pair[3])
			}
		}
	}
	slices.Sort(all)
	return all
}

// unseen are the metrics of ours that nothing asks for.
func (m *metricNames) unseen() []string {
	// A tool's average and p95 are there for /tools and the console as well.
	var left []string
	for name := range m.kinds {
		if strings.HasPrefix(name, "magpie_") && !m.used[name] && name != "magpie_tool_seconds" && name != "magpie_cron_jobs" && name != "magpie_info" {
			left = append(left, name)
		}
	}
	return left
}

func deployFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (m *metricNames) checkAlerts(t *testing.T) {
	t.Helper()
	m.used = map[string]bool{}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(deployFile(t, "alerts.yml"), &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Magpie") {
				t.Errorf("alarm %q: want a name of its own", r.Alert)
			}
			seen[r.Alert] = true
			m.check(t, r.Alert, r.Expr)
			if _, err := model.ParseDuration(r.For); err != nil && r.For != "" {
				t.Errorf("%s: for: %v", r.Alert, err)
			}
			if s := r.Labels["severity"]; s != "critical" && s != "warning" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["todo"] == "" {
				t.Errorf("%s does not say what is the matter, or what to do", r.Alert)
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d alarms", len(seen))
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range seen {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/operations.md does not name %s", name)
		}
	}
}

type panel struct {
	ID      int
	Title   string
	Type    string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ RefID, Expr string }
}

func (m *metricNames) checkDashboard(t *testing.T) {
	t.Helper()
	var board struct {
		UID, Title  string
		Panels      []panel
		Annotations struct{ List []struct{ Expr string } }
	}
	dec := json.NewDecoder(bytes.NewReader(deployFile(t, "grafana-dashboard.json")))
	if err := dec.Decode(&board); err != nil {
		t.Fatal(err)
	}
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies upon %q, or outside", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			m.exprs = append(m.exprs, target.Expr)
			m.check(t, p.Title, target.Expr)
		}
	}
	for _, a := range board.Annotations.List {
		m.exprs = append(m.exprs, a.Expr)
		m.check(t, "annotation", a.Expr)
	}
	t.Run("promtool", m.promtool)
}

// promtool lets Prometheus' own program read all expressions, and runs the
// tests of the alarms.
func (m *metricNames) promtool(t *testing.T) {
	t.Helper()
	tool := os.Getenv("MAGPIE_TEST_PROMTOOL")
	if tool == "" {
		var err error
		if tool, err = exec.LookPath("promtool"); err != nil {
			need.Unmet(t, "there is no promtool (MAGPIE_TEST_PROMTOOL=/path names one): the expressions are not read by Prometheus' own")
		}
	}
	var rules bytes.Buffer
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for i, expr := range m.exprs {
		text, err := json.Marshal(strings.ReplaceAll(strings.ReplaceAll(expr, "$__rate_interval", "5m"), "$job", "magpie"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&rules, "  - {record: 'x:%d', expr: %s}\n", i, text)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(path, rules.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", path}, {"check", "rules", "../../deploy/alerts.yml"}, {"test", "rules", "../../deploy/alerts_test.yml"}} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
