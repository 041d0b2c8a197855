package system_test

import (
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
	env := system.NewEnv(table, []string{"MAGPIE_SHOWN", "MAGPIE_UNSET"})
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
	run("1", "set_env", `{"key":"MAGPIE_API_KEY","value":"mine 喜"}`, "", "before: null")
	run("1", "get_env", `{"key":"MAGPIE_API_KEY"}`, "", `"mine 喜"`)
	// Another chat sees nothing of it.
	run("2", "get_env", `{"key":"MAGPIE_SHOWN"}`, "", `"from outside"`)
	run("2", "get_env", `{"key":"MAGPIE_API_KEY"}`, tools.Permission, "")
	for _, name := range []string{"LD_PRELOAD", "PATH", "PYTHONPATH", "BASH_ENV", "ld_library_path"} {
		run("1", "set_env", `{"key":"`+name+`","value":"x"}`, tools.Security, "cannot be set")
	}
	run("1", "set_env", `{"key":"A B","value":"x"}`, tools.InvalidArgs, "key")
	run("1", "set_env", `{"key":"A","value":"a\u0000b"}`, tools.InvalidArgs, "NUL")
	run("1", "set_env", `{"key":"A","value":"`+strings.Repeat("x", 8<<10+1)+`"}`, tools.InvalidArgs, "8193 bytes")
	// A restart keeps it.
	vars, err := system.NewEnv(table, nil).Overlay(t.Context(), chat.Address{Channel: "c", Chat: "1"}.Session())
	if err != nil || vars["MAGPIE_API_KEY"] != "mine 喜" || len(vars) != 2 {
		t.Errorf("after a restart: %v, %v", vars, err)
	}
	tooltest.Run(t, env.GetEnv(), &tooltest.Options{Good: []string{`{"key":"PATH"}`}})
	tooltest.Run(t, env.SetEnv(), &tooltest.Options{Good: []string{`{"key":"A","value":"b"}`}})
}
