package shell

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"magpie/tools"
	"magpie/tools/fs/origin"
	"magpie/tools/shell/guard"
)

// doubt asks about a command that could run what others' words have brought into
// the workspace and no person has accepted yet: whatever a rule of the policy
// says, it was not made for that. Who allows the command accepts these files.
func (s *Shell) doubt(sc tools.Scope, args json.RawMessage) (d tools.Doubt) {
	index := s.deps.Fence.Origin()
	files := index.Unaccepted()
	var in execIn
	if len(files) == 0 || json.Unmarshal(args, &in) != nil {
		return d
	}
	_, found, err := s.guard.Look(in.Command, s.folderOr(in.WorkingDir))
	if err == nil && onlyReads(found, files) {
		return d
	}
	for _, f := range files {
		d.Of += f.Name + " " + f.Digest + "\n"
	}
	d.Why, d.Settle = unaccepted(files, sc.Lang), func() { index.Accept(files) }
	return d
}

// onlyReads says whether a command can run none of these files: its programs
// load nothing from the workspace.
func onlyReads(found guard.Found, files []origin.File) bool {
	if found.Settings {
		return false
	}
	for _, p := range found.Programs {
		base := path.Base(p)
		if base != p && path.Dir(p) != "/bin" && path.Dir(p) != "/usr/bin" || base != "git" && !slices.Contains(readers(), base) {
			return false
		}
	}
	for _, c := range found.Commands {
		words := strings.Fields(c)
		if words[0] == "git" && (len(words) < 2 || !slices.Contains([]string{"status", "log", "diff", "show", "branch", "rev-parse", "ls-files", "blame"}, words[1]) || slices.ContainsFunc(words, runsProgram) || slices.ContainsFunc(files, ofGit)) {
			return false
		}
		if words[0] == "sort" && strings.Contains(c, "--c") || words[0] == "rg" && strings.Contains(c, "--pre") || words[0] == "file" && strings.Contains(c, "-m") {
			return false
		}
	}
	return true
}

// ofGit says whether git obeys a file.
func ofGit(f origin.File) bool {
	return slices.ContainsFunc(strings.Split(f.Name, "/"), func(part string) bool {
		return strings.HasPrefix(strings.ToLower(part), ".git") || strings.EqualFold(part, ".home") || strings.EqualFold(part, "hooks")
	}) || strings.HasSuffix(f.Name, "/")
}

func readers() []string {
	return strings.Fields(`ls cat head tail wc grep egrep fgrep rg stat file du df date pwd cd echo printf true false test [ : uname id whoami hostname which
		basename dirname realpath readlink nl rev tac cut tr uniq sort diff cmp comm column md5sum sha1sum sha256sum base64 od xxd strings seq sleep
		mkdir rmdir touch cp mv rm ln chmod find xargs jq cal uptime free`)
}
