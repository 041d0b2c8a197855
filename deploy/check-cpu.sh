#!/usr/bin/env bash
# Builds the program for other processors and systems than this one, and has
# those for Linux answer a message and look at themselves under qemu-user
# (Debian's package qemu-user or qemu-user-static), where the filter of system
# calls is tested, too. Without it they are only built, and with
# MAGPIE_TEST_REQUIRE=1 the check fails.
#
#	check-cpu.sh [all]
#
# all builds for Macs with an Intel processor, too.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export CGO_ENABLED=0

fail() {
	echo "check-cpu.sh: $*" >&2
	exit 1
}

build() {
	local began=$SECONDS
	GOOS=$1 GOARCH=$2 go build -trimpath -ldflags '-s -w' -o "$out/bot-$1-$2" ./cmd/bot
	echo "$1/$2: built in $((SECONDS - began)) s, $(stat -c %s "$out/bot-$1-$2") bytes"
}

# answers PROCESSOR EMULATOR…: an empty folder, one message, then the doctor.
# Commands have no sandbox under the emulator, which knows no Landlock: what
# counts is that the program says so and does not wait for it.
answers() {
	local processor=$1 bot=$out/bot-linux-$1 dir=$out/home-$1 said
	shift
	mkdir "$dir"
	# Any free port, so that no bot of this machine is taken for this one.
	echo 'web: {listen: "127.0.0.1:0"}' >"$dir/config.yaml"
	run() {
		(cd "$dir" && env -i HOME="$dir" PATH="$PATH" timeout 180 "$@")
	}
	echo 'what time is it' | run "$@" "$bot" chat >"$dir/out" 2>"$dir/err" || {
		cat "$dir/out" "$dir/err" >&2
		fail "$processor: bot chat ends with an error"
	}
	grep -E '^It is 20[0-9]{2}-' "$dir/out" || {
		cat "$dir/out" "$dir/err" >&2
		fail "$processor: no answer"
	}
	said=$(run "$@" "$bot" doctor 2>&1) || true # without a sandbox it ends with 1
	said=$(grep -E '^(ok|FAIL) +sandbox: ' <<<"$said") || fail "$processor: the doctor says nothing about the sandbox: $said"
	echo "$said"
	[[ $said == ok* ]] && return
	[[ $said == *"commands can do what the bot's user can"* ]] || fail "$processor: the doctor does not say what it means to have no sandbox"
	grep -F "commands can do what the bot's user can" "$dir/err" >/dev/null || fail "$processor: bot chat does not say that there is no sandbox"
}

targets=(linux/arm64 linux/arm linux/riscv64 darwin/arm64)
[[ ${1:-} != all ]] || targets+=(darwin/amd64)
export GOARM=6 # the first Raspberry Pi and the Zero; later ones run it, too
for target in "${targets[@]}"; do
	build "${target%/*}" "${target#*/}"
done

host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
for pair in arm64:aarch64 arm:arm riscv64:riscv64; do
	processor=${pair%:*} qemu=${pair#*:} as=()
	[[ $processor != arm ]] || as=(-cpu arm1176) # that of the first Raspberry Pi
	if [[ $host == "linux/$processor" ]]; then
		answers "$processor" # go test has tested the filter
	elif emulator=$(command -v "qemu-$qemu" || command -v "qemu-$qemu-static"); then
		answers "$processor" "$emulator" "${as[@]}"
		GOARCH=$processor go test -vet=off -exec "$emulator" -run '^(TestFilter|TestOldFileCalls|TestPrivateCalls)$' ./tools/shell/sandbox
	elif [[ ${MAGPIE_TEST_REQUIRE:-} == 1 ]]; then
		fail "there is no qemu-$qemu: install qemu-user"
	else
		echo "linux/$processor: not run, there is no qemu-$qemu"
	fi
done
