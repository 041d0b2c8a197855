package origin

import (
	"path"
	"slices"
	"strings"
)

// Unaccepted are the files that hold words from outside, that a program could
// run, and that no person has accepted as they are now.
func (x *Index) Unaccepted() (all []File) {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, e := range x.files {
		if e.Own || !Code(name) {
			continue
		}
		sum := e.Digest
		if !strings.HasSuffix(name, "/") {
			if sum = x.sumOf(name); sum == "" {
				continue // it is no longer there
			}
			if sum == digest(nil) {
				continue // it is empty
			}
		}
		if !x.accepted[sum] {
			all = append(all, File{name, sum, e.From})
		}
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Accept notes that a person lets these files run as they are.
func (x *Index) Accept(files []File) {
	if x == nil || len(files) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	lines := make([]entry, len(files))
	for i, f := range files {
		lines[i] = entry{Digest: f.Digest, Accepted: true}
	}
	x.tell(x.note(lines...))
}

// Code says whether a program could run what a file of that name holds:
// everything but plain data. A folder may hold anything.
func Code(name string) bool {
	if strings.HasSuffix(name, "/") || Runs(name) {
		return true
	}
	return !slices.Contains(data(), strings.ToLower(path.Ext(name)))
}

func data() []string {
	return strings.Fields(`.md .markdown .txt .rst .csv .tsv .pdf .log .rtf .odt .ods .odp .doc .docx .xls .xlsx .ppt .pptx .epub
		.png .jpg .jpeg .gif .webp .bmp .ico .tif .tiff .heic .avif .svg .mp3 .wav .ogg .oga .opus .flac .m4a .aac .mp4 .m4v .mov .mkv .webm .avi
		.json .jsonl .ndjson .geojson .xml .html .htm .css .vtt .srt .ics .vcf .eml .bib .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .parquet .sqlite .db .ttf .otf .woff .woff2`)
}

// Runs says whether programs run or obey what a file of that name holds without
// being told of it: settings of programs (dot files), hooks, skills, the files
// of builds and tests.
func Runs(name string) bool {
	parts := strings.Split(strings.ToLower(strings.Trim(name, "/")), "/")
	for i, part := range parts {
		switch {
		case strings.HasPrefix(part, ".") && part != "." && part != "..",
			part == "hooks", part == "githooks", part == "skills", i == 0 && strings.EqualFold(part, "skills"):
			return true
		}
	}
	base := parts[len(parts)-1]
	if slices.Contains(driven(), base) || slices.Contains(drivenExt(), path.Ext(base)) {
		return true
	}
	stem, _, _ := strings.Cut(base, ".")
	if ext := path.Ext(base); ext != ".json" && ext != ".xml" && slices.Contains(data(), ext) {
		return false
	}
	switch stem {
	case "makefile", "gnumakefile", "bsdmakefile", "dockerfile", "containerfile", "jenkinsfile", "rakefile", "gulpfile", "gruntfile", "gradlew", "mvnw", "vagrantfile", "justfile", "taskfile", "procfile", "compose", "docker-compose", "azure-pipelines", "bitbucket-pipelines", "appveyor", "pnpmfile", "crontab", "build", "configure", "autogen", "bootstrap":
		return true
	}
	for _, ext := range []string{".js", ".cjs", ".mjs", ".ts", ".mts", ".cts"} { // vite.config.js and its like
		if rest, ok := strings.CutSuffix(base, ext); ok && (strings.HasSuffix(rest, ".config") || strings.HasSuffix(rest, ".setup") || strings.HasSuffix(rest, ".conf")) {
			return true
		}
	}
	return false
}

func driven() []string {
	return strings.Fields(`package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml bunfig.toml deno.json deno.jsonc
		composer.json turbo.json nx.json lerna.json lefthook.yml lefthook.yaml conftest.py setup.py setup.cfg pyproject.toml pytest.ini tox.ini noxfile.py
		sitecustomize.py usercustomize.py fabfile.py tasks.py dodo.py requirements.txt pipfile cmakelists.txt meson.build
		wscript sconstruct sconscript pom.xml ivy.xml cargo.toml cargo.lock go.mod go.work go.sum gemfile guardfile capfile fastfile podfile berksfile
		brewfile thorfile earthfile tiltfile snakefile mix.exs rebar.config project.clj package.swift module.bazel workspace workspace.bazel flake.nix
		default.nix shell.nix latexmkrc autorun.inf magefile.go skaffold.yaml pre-commit-config.yaml cloudbuild.yaml netlify.toml vercel.json`)
}

func drivenExt() []string {
	return strings.Fields(`.mk .pth .gradle .sbt .service .timer .socket .desktop .plist .cron .rules .csproj .vcxproj .sln .targets .props .bzl .bazel .cmake .am .ac`)
}
