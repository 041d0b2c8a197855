package compose_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// user is who the containers are.
const user = 65532

// engine has the named volumes of a project, each in a folder.
type engine struct {
	t      *testing.T
	images string // what build.sh made of each
	dir    string
}

// create does what an engine does to volumes when it creates a container: one
// that is empty gets what the image has at that place, and its owner and mode.
// That happens each time, as long as it stays empty.
func (e engine) create(s types.ServiceConfig) {
	for _, v := range s.Volumes {
		volume := filepath.Join(e.dir, v.Source)
		if err := os.Mkdir(volume, 0o755); err != nil && !os.IsExist(err) {
			e.t.Fatal(err)
		}
		inside, err := os.ReadDir(volume)
		if err != nil {
			e.t.Fatal(err)
		}
		if len(inside) > 0 || v.Volume != nil && v.Volume.NoCopy {
			continue
		}
		for part, owner := range map[string]int{"owned": user, "root": 0} {
			from := filepath.Join(e.images, s.Build.Target, part, v.Target)
			info, err := os.Stat(from)
			if err != nil {
				continue
			}
			e.must(exec.Command("cp", "-r", from+"/.", volume))
			e.must(exec.Command("chown", "-R", itoa(owner)+":"+itoa(owner), volume))
			if err := os.Chmod(volume, info.Mode()); err != nil {
				e.t.Fatal(err)
			}
		}
	}
}

func itoa(owner int) string { return map[int]string{0: "0", user: "65532"}[owner] }

func (e engine) must(cmd *exec.Cmd) {
	e.t.Helper()
	if said, err := cmd.CombinedOutput(); err != nil {
		e.t.Fatalf("%s: %v: %s", cmd, err, said)
	}
}

// as runs a command as the user of the containers.
func (e engine) as(env []string, name string, args ...string) {
	e.t.Helper()
	cmd := exec.Command("env", append([]string{name}, args...)...) // which looks into its own PATH
	cmd.Dir = e.dir
	cmd.Env = append([]string{"PATH=" + filepath.Join(e.images, "nats/root/usr/local/bin") + ":" + os.Getenv("PATH")}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	e.must(cmd)
}

// The keys are made and read by the user of the containers, although Compose
// creates all containers before it starts any. It stands in for a real engine:
// check.sh calls it with what build.sh made.
func TestVolumesAsAnEngineFillsThem(t *testing.T) {
	e := engine{t: t, images: os.Getenv("MAGPIE_IMAGES"), dir: t.TempDir()}
	if e.images == "" || os.Geteuid() != 0 {
		t.Skip("deploy/check.sh runs this as root")
	}
	if err := os.Chmod(filepath.Dir(e.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := load(t, "compose.cluster.yml", "WEB_TOKEN=secret-for-the-page")
	if err != nil {
		t.Fatal(err)
	}
	e.create(p.Services["keys"]) // the others wait for it, so it is the first
	names := slices.DeleteFunc(p.ServiceNames(), func(name string) bool { return name == "keys" })
	for _, name := range names {
		e.create(p.Services[name])
	}

	keys := filepath.Join(e.dir, "keys")
	if err := os.Mkdir(keys, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, v := range p.Services["keys"].Volumes {
		if err := os.Symlink(filepath.Join(e.dir, v.Source), filepath.Join(keys, filepath.Base(v.Target))); err != nil {
			t.Fatal(err)
		}
	}
	script := p.Services["keys"].Command
	e.as(nil, "sh", append([]string{filepath.Join(e.images, "nats/root/usr/local/bin", script[0]), keys}, script[2:]...)...)

	e.must(exec.Command("cp", filepath.Join(e.images, "nats/root/etc/nats/nats.conf"), e.dir))
	for _, name := range names {
		for _, v := range p.Services[name].Volumes {
			volume := filepath.Join(e.dir, v.Source)
			switch {
			case v.Target == "/etc/nats/keys":
				if err := os.RemoveAll(keys); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(volume, keys); err != nil {
					t.Fatal(err)
				}
				e.as([]string{"SERVER_NAME=" + name}, "nats-server", "-t", "-c", filepath.Join(e.dir, "nats.conf"))
			case strings.HasPrefix(v.Target, "/keys/"):
				e.as(nil, "test", "-s", filepath.Join(volume, "seed"), "-a", "-r", filepath.Join(volume, "seed"))
			default:
				e.as(nil, "touch", filepath.Join(volume, "written"))
			}
		}
	}
}
