package system_test

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
	"magpie/tools/system"
	"magpie/tools/tooltest"
)

func TestEnv(t *testing.T) {
	t.Setenv("MAGPIE_SHOWN", "from outside")
	t.Setenv("MAGPIE_API_KEY", "secret")
	table := new(kv.Memory)
	env := system.NewEnv(table, []string{"MAGPIE_SHOWN", "MAGPIE_UNSET"}).For(nil, []string{"MAGPIE_SHOWN"})
	reg := &tools.Registry{}
	if err := reg.RegisterAll(env.GetEnv(), env.SetEnv()); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	run := func(chatID, tool, args string, kind tools.ErrorKind, want string) {
		t.Helper()
		res := e.Run(t.Context(), tools.Scope{Addr: chat.Address{Channel: "c", Chat: chatID}}, tool, args)
		if res.Err != kind || !strings.Contains(res.Text, want) || strings.Contains(res.Text, "secret") {
			t.Errorf("%s(%s) = %s %q, want %s %q", tool, args, res.Err, res.Text, kind, want)
		}
	}
	run("1", "get_env", `{"key":"MAGPIE_SHOWN"}`, "", `"from outside"`)
	run("1", "get_env", `{"key":"MAGPIE_UNSET"}`, "", "null")
	run("1", "get_env", `{"key":"MAGPIE_API_KEY"}`, tools.Permission, "not for tools to see")
	run("1", "set_env", `{"key":"MAGPIE_SHOWN","value":""}`, "", `before: "from outside"`)
	run("1", "get_env", `{"name":"MAGPIE_SHOWN"}`, "", `""`)
	run("1", "set_env", `{"key":"MY_KEY","value":"mine 喜"}`, "", "before: null")
	run("1", "get_env", `{"key":"MY_KEY"}`, "", `"mine 喜"`)
	// Another chat sees nothing of it.
	run("2", "get_env", `{"key":"MAGPIE_SHOWN"}`, "", `"from outside"`)
	run("2", "get_env", `{"key":"MY_KEY"}`, tools.Permission, "")
	run("1", "set_env", `{"key":"A B","value":"x"}`, tools.InvalidArgs, "key")
	run("1", "set_env", `{"key":"APP_A","value":"a\u0000b"}`, tools.InvalidArgs, "NUL")
	run("1", "set_env", `{"key":"APP_A","value":"`+strings.Repeat("x", 8<<10+1)+`"}`, tools.InvalidArgs, "8193 bytes")
	// A restart keeps it.
	o, err := system.NewEnv(table, nil).For(nil, []string{"MAGPIE_*"}).Overlay(t.Context(), chat.Address{Channel: "c", Chat: "1"}.Session())
	if err != nil || o.Vars["MY_KEY"] != "mine 喜" || len(o.Vars) != 2 || len(o.Kept) != 0 {
		t.Errorf("after a restart: %v, %v", o, err)
	}
	// What is no longer listed reaches no command.
	o, err = system.NewEnv(table, nil).Overlay(t.Context(), chat.Address{Channel: "c", Chat: "1"}.Session())
	if err != nil || len(o.Vars) != 1 || len(o.Kept) != 1 || o.Kept[0] != "MAGPIE_SHOWN" {
		t.Errorf("after it was taken off the list: %v, %v", o, err)
	}
	tooltest.Run(t, env.GetEnv(), &tooltest.Options{Good: []string{`{"key":"PATH"}`}})
	tooltest.Run(t, env.SetEnv(), &tooltest.Options{Good: []string{`{"key":"APP_A","value":"b"}`}})
}

// Only names are set of which it is known that no program obeys them: a list of
// the others has no end. These are some that programs load or run by.
func TestOnlyHarmlessVariables(t *testing.T) {
	env := system.NewEnv(new(kv.Memory), nil).For(nil, []string{"SHOP_*", "EXACT"})
	reg := &tools.Registry{}
	if err := reg.Register(env.SetEnv()); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	set := func(name, value string) tools.Result {
		raw, err := json.Marshal(map[string]string{"key": name, "value": value})
		if err != nil {
			t.Fatal(err)
		}
		return e.Run(t.Context(), tools.Scope{}, "set_env", string(raw))
	}
	for _, name := range strings.Fields(`PATH HOME SHELL IFS ENV BASH_ENV TMPDIR LD_PRELOAD ld_preload LD_AUDIT DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONSTARTUP
		PERL5LIB PERL5OPT PERL5DB RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT GIT_CONFIG_KEY_0
		GIT_DIR GIT_PAGER GIT_PROXY_COMMAND PIP_INDEX_URL PIP_CONFIG_FILE https_proxy HTTP_PROXY ALL_PROXY GOFLAGS GOPROXY GOTOOLCHAIN CARGO_HOME RUSTC_WRAPPER
		CC CXX LD MAKEFLAGS MAKEFILES JAVA_TOOL_OPTIONS _JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS npm_config_script_shell NPM_CONFIG_REGISTRY YARN_RC_FILENAME LESSOPEN
		PAGER EDITOR VISUAL BROWSER XDG_CONFIG_HOME XDG_DATA_DIRS TERMINFO INPUTRC SSL_CERT_FILE OPENSSL_CONF CURL_HOME WGETRC KUBECONFIG DOCKER_HOST AWS_CONFIG_FILE
		PS4 PROMPT_COMMAND BASH_FUNC_ls BASHOPTS SHELLOPTS LOCPATH NLSPATH GCONV_PATH TZDIR VIMINIT PGSERVICEFILE MYVIMRC APPDIR lang Path SHOP EXACTLY GREETING`) {
		if res := set(name, "x"); res.Err != tools.Security || !strings.Contains(res.Text, name+"=value command") {
			t.Errorf("%s: %+v", name, res)
		}
	}
	for name, value := range map[string]string{
		"LANG": "zh_CN.UTF-8", "LC_ALL": "C", "LC_TIME": "de_DE@euro", "TZ": "Asia/Shanghai", "NODE_ENV": "production", "DEBUG": "1",
		"APP_MODE": "any text, ./with/a/path", "MY_名": "x", "SHOP_TOKEN": "a b", "EXACT": "/a", "NO_COLOR": "",
	} {
		want := tools.ErrorKind("")
		if name == "MY_名" { // no name of a variable
			want = tools.InvalidArgs
		}
		if res := set(name, value); res.Err != want {
			t.Errorf("%s=%s: %+v", name, value, res)
		}
	}
	for name, value := range map[string]string{"TZ": "/work/zone", "LANG": "../../evil", "LC_ALL": "a/b", "NODE_ENV": "$(id)", "DEBUG": "a b", "LOG_LEVEL": "`id`"} {
		if res := set(name, value); res.Err != tools.Security {
			t.Errorf("%s=%s: %+v", name, value, res)
		}
	}
	if res := set("TZ", ":/work/zone"); res.Err != tools.Security {
		t.Errorf("TZ from a file: %+v", res)
	}
}

// What get_env tells is what commands see, not what the bot has.
func TestGetEnvTellsWhatCommandsSee(t *testing.T) {
	t.Setenv("HOME", "/root/secret-home")
	env := system.NewEnv(new(kv.Memory), nil)
	for _, k := range []struct {
		env  *system.Env
		want string
	}{{env.For(map[string]string{"HOME": "/w/.home"}, nil), `"/w/.home"`}, {env.For(map[string]string{}, nil), "null"}, {env, "null"}} {
		res, err := k.env.GetEnv().Call(t.Context(), tools.Scope{}, []byte(`{"key":"HOME"}`))
		if err != nil || res.Text != k.want {
			t.Errorf("HOME: %s, %v, want %s", res.Text, err, k.want)
		}
	}
}

// A variable that was set after reading others' words carries where they came
// from, over a restart; older stores have only values.
func TestVariablesKeepTheirSources(t *testing.T) {
	table := new(kv.Memory)
	if _, err := table.Create(t.Context(), "s", []byte(`{"APP_OLD":"1","GIT_DIR":"x"}`), 0); err != nil {
		t.Fatal(err)
	}
	sc := tools.Scope{Heard: tools.Heard{Sources: []chat.Source{{Kind: chat.SourcePage, Name: "https://a.example/"}}}}
	if _, err := system.NewEnv(table, nil).SetEnv().Call(t.Context(), sc, []byte(`{"key":"APP_NEW","value":"2"}`)); err != nil {
		t.Fatal(err)
	}
	o, err := system.NewEnv(table, nil).Overlay(t.Context(), sc.Addr.Session())
	if err != nil || o.Vars["APP_NEW"] != "2" || len(o.From) != 1 || o.From[0].Name != "https://a.example/" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := system.NewEnv(table, nil).Overlay(t.Context(), "s"); err != nil || o.Vars["APP_OLD"] != "1" || len(o.Vars) != 1 || len(o.From) != 0 || len(o.Kept) != 1 {
		t.Errorf("of an older version: %+v, %v", o, err)
	}
	spec := system.NewEnv(table, nil).SetEnv().Spec()
	if spec.Effect != tools.Acts {
		t.Errorf("set_env %s, so a tainted turn is not asked about", spec.Effect)
	}
}
