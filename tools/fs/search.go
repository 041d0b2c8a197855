package fs

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/fs/fence"
)

//go:embed file_search.md
var fileSearchText string

// The limits of file_search.
const (
	maxSearched   = 500_000  // entries looked at in one call
	maxGrepBytes  = 20 << 20 // of one file
	maxSearchTree = 64       // folders below each other
)

type searchIn struct {
	Path     string `json:"path,omitempty" jsonschema:"Where to look, from the workspace; all of it when it is not given." rule:"default=."`
	Pattern  string `json:"pattern,omitempty" jsonschema:"Names to find, such as *.md; with a slash it is matched on the path, and ** stands for any folders."`
	Type     string `json:"type,omitempty" jsonschema:"What to find." rule:"enum=file|dir|all,default=file"`
	MaxDepth int    `json:"max_depth,omitempty" jsonschema:"How deep to look: 0 is the folder itself, -1 everything." rule:"min=-1,max=64,default=-1"`
	Limit    int    `json:"limit,omitempty" jsonschema:"How many results to show." rule:"min=1,max=100,default=20"`
	Content  string `json:"content,omitempty" jsonschema:"Only files that hold this text; the lines with it are shown. Upper and lower case count only if it has an upper-case letter, accents only if it has one."`
}

// FileSearch makes file_search.
func FileSearch(f *fence.Fence) tools.Tool {
	aliases := pathAliases()
	for alias, name := range map[string]string{"directory": "path", "dir": "path", "query": "content", "text": "content", "grep": "content", "name": "pattern", "glob": "pattern", "max_results": "limit", "depth": "max_depth"} {
		aliases[alias] = name
	}
	spec := tools.Spec{
		Name: "file_search", Description: strings.TrimSpace(fileSearchText), Category: tools.File, Effect: tools.Reads,
		Main: "path", Aliases: aliases,
	}
	return tools.New(spec, func(ctx context.Context, _ tools.Scope, in searchIn) (tools.Result, error) {
		return search(ctx, f, in)
	}, tools.WithSubject(f.Name))
}

// finder is one search under way.
type finder struct {
	held    // by the policy
	in      searchIn
	match   func(rel string) bool
	grep    grep
	out     strings.Builder
	found   int
	from    []chat.Source // of the hits that others have written
	walked  int
	stopped string // why not everything was looked at
}

// errEnough ends a walk that has what it wants.
var errEnough = errors.New("enough")

func search(ctx context.Context, f *fence.Fence, in searchIn) (tools.Result, error) {
	if in.Pattern == "" && in.Content == "" {
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "want pattern (names) or content (text in files), or both")
	}
	if in.Content != "" && in.Type == "dir" {
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "folders have no content; want type file")
	}
	match, err := glob(in.Pattern)
	if err != nil {
		return tools.Result{}, err
	}
	dir, err := folder(ctx, f, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer dir.Close()
	s := &finder{held: held{fence: f, base: f.Real(in.Path)}, in: in, match: match, grep: newGrep(in.Content)}
	if err := s.walk(ctx, dir, "", 0); err != nil && !errors.Is(err, errEnough) {
		return tools.Result{}, err
	}
	return tools.Result{Text: strings.TrimSpace(s.report() + "\n" + s.said()), Untrusted: len(s.from) > 0, Sources: s.from}, nil
}

func (s *finder) report() string {
	where := fence.Shown(s.fence.Name(s.in.Path))
	if s.found == 0 {
		text := fmt.Sprintf("nothing found in %s (%d entries looked at)", where, s.walked)
		if s.stopped != "" {
			text += "; " + s.stopped
		}
		return text
	}
	head := fmt.Sprintf("%d found in %s", s.found, where)
	if s.stopped != "" {
		head += "; " + s.stopped
	}
	return head + "\n" + strings.TrimRight(s.out.String(), "\n")
}

func (s *finder) walk(ctx context.Context, dir *fence.Folder, rel string, depth int) error {
	var below []string
	for {
		entries, err := entriesOf(dir, rel, maxDirEntries)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		if s.walked += len(entries); s.walked > maxSearched {
			s.stopped = fmt.Sprintf("stopped after %d entries, look in a folder below", s.walked)
			return errEnough
		}
		for _, e := range entries {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if s.back(ctx, e) {
				continue
			}
			if err := s.take(dir, e); err != nil {
				return err
			}
			if e.kind == "dir" && !passedOver(e) {
				below = append(below, e.path)
			}
		}
	}
	if s.in.MaxDepth >= 0 && depth >= s.in.MaxDepth || depth >= maxSearchTree {
		return nil
	}
	for _, rel := range below {
		if err := s.below(ctx, dir, rel, depth+1); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

func (s *finder) below(ctx context.Context, dir *fence.Folder, rel string, depth int) error {
	next, err := dir.Folder(path.Base(rel))
	if err != nil {
		return err
	}
	defer next.Close()
	return s.walk(ctx, next, rel, depth)
}

// take looks at one entry and notes it when it is what is wanted.
func (s *finder) take(dir *fence.Folder, e entry) error {
	if s.in.Type != "all" && e.kind != s.in.Type || !s.match(e.path) {
		return nil
	}
	var hits []string
	if s.in.Content != "" {
		if e.kind != "file" {
			return nil
		}
		if hits = s.hits(dir, e); len(hits) == 0 {
			return nil
		}
	}
	if s.found == s.in.Limit {
		s.stopped = "there are more, give a narrower pattern or a larger limit"
		return errEnough
	}
	s.found++
	name := path.Join(s.fence.Name(s.in.Path), e.path)
	if e.kind == "dir" {
		name += "/"
	}
	s.out.WriteString(fence.Shown(name) + "\n")
	for _, h := range hits {
		s.out.WriteString("  " + h + "\n")
	}
	return nil
}

// hits returns the lines of a file that hold the wanted text. A file that
// cannot be read is passed over: the others are still worth having.
func (s *finder) hits(dir *fence.Folder, e entry) []string {
	if e.size > maxGrepBytes || e.size == 0 {
		return nil
	}
	file, err := dir.Open(path.Base(e.path))
	if err != nil {
		return nil
	}
	defer file.Close()
	hits := s.grep.lines(file)
	if len(hits) > 0 {
		s.from = chat.JoinSources(s.from, s.fence.Origin().Of(path.Join(s.base, e.path), file))
	}
	return hits
}
