#!/usr/bin/env bash
# Tries what is shipped with a real Docker engine: builds the images, starts
# both Compose files as the documentation says and runs internal/dockertest on
# them, in a copy of the source.
#
#	docker-test.sh [--long] [--own] [-run REGEXP]
#
# --long runs all scenarios and measures (docs/bench.md), without it what fits
# into CI. It uses the engine that answers; where none does, or with --own, it
# starts one of Debian's package docker.io (see engine.sh), for which it has to
# be root and may install packages. Compose and BuildKit are those of the
# machine, else built from their Go modules. Base images that cannot be pulled
# are made of Debian's packages and the machine's Go under the same names.
#
# What only an engine or a download does wrong is said aloud, and check.sh
# stands in, which needs neither; what the product does wrong fails.
set -euo pipefail
cd "$(dirname "$0")/.."

compose_version=v2.40.3
buildx_version=v0.29.1
cache=${MAGPIE_DOCKER_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/magpie-ci/docker}
long= own= run=.
while (($# > 0)); do
	case $1 in
	--long) long=1 ;;
	--own) own=1 ;;
	-run) run=$2 && shift ;;
	*) echo "docker-test.sh: --long, --own or -run REGEXP, got $1" >&2 && exit 2 ;;
	esac
	shift
done

work=$(mktemp -d "${TMPDIR:-/tmp}/magpie-docker.XXXXXX")
engine=$work/engine
finish() {
	[[ -z ${clean:-} ]] || "$clean"
	if [[ -d $engine ]]; then deploy/engine.sh remove "$engine"; fi
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 143' TERM INT

# stand_in ends the script with what check.sh finds.
stand_in() {
	printf '\n*** %s\n*** The images are NOT tried with a real engine; check.sh stands in.\n\n' "$*" >&2
	deploy/check.sh
	exit
}

# installed says whether programs are there, else asks apt for their packages.
installed() {
	local program missing=()
	for program in "$@"; do
		command -v "${program%=*}" >/dev/null || missing+=("${program#*=}")
	done
	((${#missing[@]} == 0)) && return
	command -v apt-get >/dev/null && ((EUID == 0)) || return
	# A package that would start a service does not in this level.
	(export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 &&
		apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}") >"$work/apt.log" 2>&1 ||
		{ tail -n 5 "$work/apt.log" >&2 && return 1; }
}

# plugin builds a plugin of the docker command from its Go module.
plugin() {
	local name=$1 module=$2 version=$3 main=$4 names=$5 file=$cache/$1-$3 source
	if [[ ! -x $file ]]; then
		echo "building $name $version"
		source=$(cd "$work" && GOFLAGS='' go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') &&
			(cd "$source" && GOFLAGS='' CGO_ENABLED=0 go build -trimpath -buildvcs=false \
				-ldflags "-s -w -X $module$names.Version=$version" -o "$file.new" "$main") &&
			mv "$file.new" "$file" || return
	fi
	ln -sf "$file" "$DOCKER_CONFIG/cli-plugins/$name"
}

# minbase is a small Debian as a tar, from the mirror that this machine uses.
minbase() (
	set -e
	[[ -s $cache/minbase.tar ]] && return
	installed debootstrap=debootstrap
	local root=$work/minbase sources
	sources=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | grep -E ' bookworm(-security|-updates)? main$')
	debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$(grep -m1 ' bookworm main$' <<<"$sources" | cut -d' ' -f1)" >"$work/debootstrap.log"
	sed 's/^/deb /' <<<"$sources" >"$root/etc/apt/sources.list"
	printf 'path-exclude /usr/share/%s/*\n' doc man locale info >"$root/etc/dpkg/dpkg.cfg.d/docker"
	rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/usr/share/{doc,man,locale,info}/* "$root/etc/resolv.conf"
	tar -C "$root" -cf "$cache/minbase.tar.new" .
	mv "$cache/minbase.tar.new" "$cache/minbase.tar"
	rm -rf "$root"
)

# make_image makes a base image that cannot be pulled.
make_image() {
	local root=$work/busybox authorities=/etc/ssl/certs/ca-certificates.crt # those that this machine trusts
	case $1 in
	debian:*)
		minbase
		docker import --change 'CMD ["bash"]' "$cache/minbase.tar" "$1"
		;;
	golang:*)
		minbase
		cp "$cache/minbase.tar" "$work/golang.tar"
		tar -rf "$work/golang.tar" --owner=0 --group=0 --transform 's,^\.,./usr/local/go,' -C "$(go env GOROOT)" .
		if [[ -e $authorities ]]; then tar -rf "$work/golang.tar" --owner=0 --group=0 --transform "s,^,.," -P "$authorities"; fi
		docker import --change 'ENV PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOPATH=/go GOTOOLCHAIN=local' "$work/golang.tar" "$1"
		rm "$work/golang.tar"
		;;
	alpine:*)
		mkdir -p "$root"/{bin,etc,root,tmp}
		(cd "$work" && apt-get download -qq busybox-static 2>/dev/null && dpkg-deb --fsys-tarfile busybox-static_*.deb | tar -x ./bin/busybox && mv bin/busybox "$root/bin/")
		for name in $("$root/bin/busybox" --list | grep -vx busybox); do ln -s busybox "$root/bin/$name"; done
		echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
		tar -C "$root" -c . | docker import --change 'CMD ["/bin/sh"]' - "$1"
		;;
	*) return 1 ;;
	esac >/dev/null
	echo "made $1 of Debian's packages"
}

base_images() {
	local image reached=1
	for image in $(sed -nE 's/^FROM (--platform=\S+ )?(\S+:\S+).*/\2/p' deploy/Dockerfile | sort -u); do
		docker image inspect "$image" >/dev/null 2>&1 && continue
		if ((reached)) && timeout 300 docker pull -q "$image" 2>"$work/pull.log"; then continue; fi
		reached=0
		make_image "$image" || { tail -n 3 "$work"/*.log >&2 && return 1; }
	done
}

# The client keeps nothing of the user's, and hands on proxies of this machine.
export DOCKER_CONFIG=$work/config
mkdir -p "$DOCKER_CONFIG/cli-plugins" "$cache"

if [[ -z $own ]] && docker version >/dev/null 2>&1; then
	echo "engine: the one that answers, $(docker version --format '{{.Server.Version}}')"
else
	((EUID == 0)) || stand_in 'no engine answers, and only root can start one'
	installed dockerd=docker.io docker=docker.io iptables=iptables ip=iproute2 slirp4netns=slirp4netns || stand_in 'docker.io cannot be installed'
	export DOCKER_HOST=unix://$engine/docker.sock MAGPIE_DOCKER_ENGINE=$engine MAGPIE_DOCKER_STORE=$cache/store
	if ! deploy/engine.sh start "$engine" "$cache/store"; then
		deploy/engine.sh remove "$engine"
		rm -rf "$cache/store"
		deploy/engine.sh start "$engine" "$cache/store" || stand_in 'no engine can be started here'
	fi
	echo "engine: its own, $(docker version --format '{{.Server.Version}}')"
fi

# versions older than 2.24 cannot read the files
if ! docker compose version >/dev/null 2>&1; then
	plugin docker-compose github.com/docker/compose/v2 $compose_version ./cmd /internal || stand_in 'Compose cannot be built'
fi
if ! docker buildx version >/dev/null 2>&1; then
	plugin docker-buildx github.com/docker/buildx $buildx_version ./cmd/buildx /version || stand_in 'BuildKit cannot be built'
fi
docker compose version
docker buildx version
base_images || stand_in 'the base images can be neither pulled nor made'

# A copy as git would give it to somebody, with what is not committed yet.
source=$work/magpie
git clone -q --no-local . "$source"
git ls-files -z --cached --others --exclude-standard | (while IFS= read -r -d '' f; do [[ -e $f ]] && printf '%s\0' "$f"; done) |
	tar --null -T - -c | tar -x -C "$source"

go test -c -o "$work/dockertest" ./internal/dockertest
enter=()
[[ -z ${MAGPIE_DOCKER_ENGINE:-} ]] || enter=("$PWD/deploy/engine.sh" in "$engine")
export MAGPIE_DOCKER_TEST=${long:+long} MAGPIE_DOCKER_SOURCE=$source
code=0
(cd internal/dockertest && "${enter[@]}" "$work/dockertest" -test.v -test.timeout 60m -test.run "$run") || code=$?
((code == 75)) && stand_in 'the engine or a download failed, see above'
exit "$code"
