#!/bin/sh
# Builds what an image holds; the Dockerfile does nothing else.
#
#	build.sh bot|nats OUT
#
# OUT/root becomes /, owned by root; OUT/owned is copied over it for user 65532.
# GOOS, GOARCH and VERSION choose what is built; without them it is this machine
# and what git knows. In an image there is no history for git, only the names
# of commits and tags: see named.
set -eu
what=$1
out=$2
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
mkdir -p "$out/root" "$out/owned"

# named is the tag of the commit that is checked out, else the commit, by HEAD,
# refs and packed-refs alone. A tag with a text of its own counts when it is
# packed (as after a clone): its file names the text, not the commit.
named() {
	head=$(cat .git/HEAD 2>/dev/null) || return 0
	commit=$head
	case $head in
	'ref: '*)
		ref=${head#ref: }
		commit=$(cat ".git/$ref" 2>/dev/null || awk -v ref="$ref" '$2 == ref { print $1 }' .git/packed-refs 2>/dev/null) || return 0
		;;
	esac
	tag=$({
		grep -rlx "$commit" .git/refs/tags 2>/dev/null | sed 's,^\.git/refs/tags/,,'
		awk -v commit="$commit" '
			/^\^/ { if (tag != "" && substr($1, 2) == commit) print tag; next }
			{ tag = $2; if (!sub("^refs/tags/", "", tag)) tag = ""; else if ($1 == commit) print tag }
		' .git/packed-refs 2>/dev/null
	} | grep -E '^[A-Za-z0-9._/+-]+$' | sort -V | tail -n 1)
	short=$(echo "$commit" | grep -E '^[0-9a-f]{40,64}$' | cut -c1-12)
	echo "${tag:-$short}"
}

vcs=auto
if ! git rev-parse -q --verify 'HEAD^{commit}' >/dev/null 2>&1; then
	vcs=false
	VERSION=${VERSION:-$(named)}
fi

case $what in
bot)
	# What takes little of the time of a message is compiled without inlining, which
	# takes more than a megabyte off the program.
	small=
	for package in github.com/bwmarrin github.com/larksuite github.com/modelcontextprotocol github.com/google \
		github.com/JohannesKaufmann codeberg.org mvdan.cc google.golang.org github.com/prometheus github.com/spf13 \
		github.com/goccy github.com/aliyun github.com/ledongthuc golang.org/x/image github.com/segmentio \
		github.com/go-telegram-bot-api github.com/tencent-connect github.com/open-dingtalk github.com/go-co-op \
		github.com/sashabaranov github.com/gorilla github.com/go-resty golang.org/x/net/html github.com/gabriel-vasile \
		github.com/klauspost github.com/yuin github.com/andybalholm github.com/coder github.com/landlock-lsm github.com/teambition github.com/aymanbagabas golang.org/x/oauth2 github.com/nats-io/jwt rsc.io github.com/gogs golang.org/x/text github.com/robfig \
		magpie/internal/fakes magpie/internal/simulate magpie/internal/backup magpie/config magpie/cmd magpie/cron \
		magpie/tools magpie/channels magpie/internal/app magpie/subagent magpie/agent magpie/internal/links magpie/internal/proxy magpie/media magpie/internal/setup magpie/internal/console magpie/internal/termchat magpie/internal/lineedit; do
		small="$small -gcflags=$package/...=-l"
	done
	small="$small -gcflags=magpie/cron/grammar= -gcflags=magpie/agent/egress=" # what reading words, and comparing addresses, costs
	# shellcheck disable=SC2086 # one word for each package
	go build -trimpath -buildvcs=$vcs $small -ldflags "-s -w -X main.version=${VERSION:-}" -o "$out/root/bin/bot" ./cmd/bot
	# Zones are part of the program; certificates come from this machine.
	mkdir -p "$out/root/etc/ssl/certs" "$out/root/etc/magpie" "$out/root/tmp"
	cp /etc/ssl/certs/ca-certificates.crt "$out/root/etc/ssl/certs/"
	echo 'magpie:x:65532:65532:Magpie:/data:/nonexistent' >"$out/root/etc/passwd"
	echo 'magpie:x:65532:' >"$out/root/etc/group"
	cp deploy/docker.yaml "$out/root/etc/magpie/config.yaml"
	cp deploy/cluster.yaml "$out/root/etc/magpie/cluster.yaml"
	chmod 1777 "$out/root/tmp"
	mkdir -p "$out/owned/data" "$out/owned/workspace"
	chmod 700 "$out/owned/data" "$out/owned/workspace"
	;;
nats)
	go build -trimpath -ldflags '-s -w' -o "$out/root/usr/local/bin/nats-server" github.com/nats-io/nats-server/v2
	go build -trimpath -ldflags '-s -w' -o "$out/root/usr/local/bin/nk" github.com/nats-io/nkeys/nk
	mkdir -p "$out/root/etc/nats/keys"
	cp deploy/nats/nats.conf "$out/root/etc/nats/"
	cp deploy/nats/keys.sh "$out/root/usr/local/bin/"
	mkdir -p "$out/owned/data" "$out/owned/keys/server" "$out/owned/keys/gateway" "$out/owned/keys/agent" "$out/owned/keys/cron" "$out/owned/keys/admin"
	chmod 700 "$out/owned/data" "$out/owned/keys"/*
	;;
*)
	echo "want bot or nats, got $what" >&2
	exit 2
	;;
esac
