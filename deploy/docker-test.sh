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

cache=${MAGPIE_DOCKER_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/magpie-ci/docker}
long= own= run=.
while (($# > 0)); do
	case $1 in
	--long) long=long ;;
	--own) own=1 ;;
	-run) run=$2 && shift ;;
	*) echo "docker-test.sh: --long, --own or -run REGEXP, got $1" >&2 && exit 2 ;;
	esac
	shift
done

work=$(mktemp -d "${TMPDIR:-/tmp}/magpie-docker.XXXXXX")
engine=$work/engine
finish() {
	if [[ -d $engine ]]; then
		# what the next run can use stays in the store
		for what in container volume image; do docker $what prune -f; done >/dev/null 2>&1 || true
		docker builder prune -f --keep-storage 3gb >/dev/null 2>&1 || true
		deploy/engine.sh remove "$engine"
	fi
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

# The client has nothing of the user's, and hands on the proxies of this machine.
# What listens on the loopback of this machine has another address in a network
# of its own.
loopback() { [[ -z ${MAGPIE_DOCKER_ENGINE:-} ]] && cat || sed -E 's,//(127\.0\.0\.1|localhost|\[::1\]),//10.0.2.2,g'; }
configure() {
	GOPROXY=$(go env GOPROXY | loopback)
	export GOPROXY
	printf '{"proxies": {"default": {"httpProxy": "%s", "httpsProxy": "%s", "noProxy": "%s"}}}\n' \
		"${http_proxy:-${HTTP_PROXY:-}}" "${https_proxy:-${HTTPS_PROXY:-}}" "${no_proxy:-${NO_PROXY:-}}" | loopback >"$DOCKER_CONFIG/config.json"
}
own_config=$work/config
mkdir -p "$own_config/cli-plugins" "$cache"

if [[ -z $own ]] && docker version >/dev/null 2>&1; then
	echo "engine: the one that answers, $(docker version --format '{{.Server.Version}}')"
else
	((EUID == 0)) || stand_in 'no engine answers, and only root can start one'
	deploy/docker-tools.sh packages || stand_in 'docker.io cannot be installed'
	export DOCKER_HOST=unix://$engine/docker.sock MAGPIE_DOCKER_ENGINE=$engine MAGPIE_DOCKER_STORE=$cache/store
	if ! deploy/engine.sh start "$engine" "$cache/store"; then
		deploy/engine.sh remove "$engine"
		rm -rf "$cache/store"
		deploy/engine.sh start "$engine" "$cache/store" || stand_in 'no engine can be started here'
	fi
	echo "engine: its own, $(docker version --format '{{.Server.Version}}')"
fi

export DOCKER_CONFIG=$own_config
configure
deploy/docker-tools.sh plugins "$cache" "$DOCKER_CONFIG/cli-plugins" || stand_in 'Compose and BuildKit cannot be built'
docker compose version
docker buildx version
deploy/docker-tools.sh images "$cache" || stand_in 'the base images can be neither pulled nor made'

# A copy as git would give it to somebody, with what is not committed yet.
source=$work/magpie
git clone -q --no-local . "$source"
git ls-files -z --cached --others --exclude-standard | (while IFS= read -r -d '' f; do [[ -e $f ]] && printf '%s\0' "$f"; done) |
	tar --null -T - -c | tar -x -C "$source"

go test -c -o "$work/dockertest" ./internal/dockertest
enter=()
[[ -z ${MAGPIE_DOCKER_ENGINE:-} ]] || enter=("$PWD/deploy/engine.sh" in "$engine")
export MAGPIE_DOCKER_TEST=${long:-short} MAGPIE_DOCKER_SOURCE=$source
(cd internal/dockertest && "${enter[@]}" "$work/dockertest" -test.v -test.timeout 90m -test.run "$run")
[[ ! -e $source/deploy/engine-failed ]] || stand_in 'the engine or a download failed, see above'
