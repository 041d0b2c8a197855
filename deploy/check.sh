#!/usr/bin/env bash
# Exercises the images without Docker: runs the build steps, checks that the
# programs are static, and starts the bot as the container does: as user 65532,
# without rights, in a root that is read-only and holds nothing else, with a
# network of its own that has no IPv6, not even on the loopback. The volumes of
# the cluster are filled as an engine fills them. As root on Linux; without root
# it does what it can and says so.
#
#	check.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")"
out=${1:-$(mktemp -d)}
[[ -n ${1:-} ]] || trap 'rm -rf "$out"' EXIT

fail() {
	echo "check.sh: $*" >&2
	exit 1
}

# What a Dockerfile builds is what build.sh builds: it has no other go command.
while read -r line; do
	case $line in
	*'sh deploy/build.sh bot /out' | *'sh deploy/build.sh nats /out' | 'RUN go mod download' | 'RUN printf '*) ;;
	*) fail "the Dockerfile builds by itself: $line" ;;
	esac
done < <(grep -E '^RUN .*(go |build)' Dockerfile)
(($(grep -cE '^RUN .*sh deploy/build\.sh (bot|nats) /out$' Dockerfile) == 2)) || fail 'want one call of build.sh for each of bot and nats'
for what in bot nats; do
	sh ./build.sh "$what" "$out/$what"
done
for program in "$out"/bot/root/bin/* "$out"/nats/root/usr/local/bin/{nats-server,nk}; do
	! ldd "$program" >/dev/null 2>&1 || fail "$program is not static"
done
# Everything that the stages copy is there.
while read -r path; do
	found=0
	for what in bot nats; do [[ -e $out/$what/${path#/out/} ]] && found=1; done
	((found)) || fail "the Dockerfile copies $path, which build.sh does not make"
done < <(grep -oE '/out/[a-z/]+' Dockerfile | sort -u)
echo "image bot: $(du -sb --apparent-size "$out/bot/root" | awk '{printf "%.1f MB", $1 / 1e6}'), compressed about $(tar -C "$out/bot/root" -cz . | wc -c | awk '{printf "%.1f MB", $1 / 1e6}')"
echo "image nats, without its base: $(du -sb --apparent-size "$out/nats/root" | awk '{printf "%.1f MB", $1 / 1e6}')"
"$out/bot/root/bin/bot" version

if command -v systemd-analyze >/dev/null; then
	sed "s|^ExecStart=[^ ]*|ExecStart=$out/bot/root/bin/bot|" bot.service >"$out/bot.service"
	said=$(systemd-analyze verify "$out/bot.service" 2>&1) || fail "bot.service: $said"
	[[ $said != *"$out/bot.service"* ]] || fail "bot.service: $said"
	systemd-analyze security --offline=yes --threshold=20 --no-pager "$out/bot.service" >"$out/security" || fail "bot.service: $(tail -1 "$out/security")"
	tail -1 "$out/security"
fi

if ((EUID != 0)); then
	echo 'not root: the bot is not started in a root of its own'
	exit 0
fi

chmod 755 "$out"
chown -R 65532:65532 "$out"/*/owned
MAGPIE_IMAGES=$(realpath "$out") go -C ../internal/compose test -count=1 -run '^TestVolumesAsAnEngineFillsThem$' ./...

# From here on in namespaces of its own: mounts and processes end with it.
OUT=$out unshare --mount --net --pid --fork --kill-child bash -euo pipefail <<'INSIDE'
fail() {
	echo "check.sh: $*" >&2
	cat "$OUT/log" >&2
	exit 1
}
root=$OUT/bot/root
data=$OUT/bot/owned/data
touch "$OUT/log"
ip link set lo up
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.lo.disable_ipv6=1
[[ ! -s /proc/net/if_inet6 ]] || fail 'IPv6 cannot be switched off'
mkdir -p "$root/data" "$root/proc"
mount --bind "$root" "$root"
mount --bind "$data" "$root/data"
mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"

# as the container does: its user, no new rights, its environment
bot() {
	exec env -i PATH="$PATH" BOT_CONFIG=/etc/magpie/config.yaml HOME=/data TIMEZONE=Asia/Shanghai WEB_TOKEN=0123456789abcdef0123456789abcdef \
		setpriv --no-new-privs chroot --userspec=65532:65532 --groups= "$root" /bin/bot "$@"
}
! touch "$root/bin/x" 2>/dev/null || fail 'the root is not read-only'
(bot version) || fail 'bot version'
(bot config check) || fail 'bot config check'
! (bot health) >/dev/null 2>&1 || fail 'bot health says yes although no bot runs'

bot run >"$OUT/log" 2>&1 &
pid=$!
for ((i = 0; ; i++)); do
	if (bot health --ready) >/dev/null 2>&1; then break; fi
	((i < 200)) && kill -0 "$pid" || fail 'the bot does not become healthy'
	sleep 0.1
done
echo "health: $( (bot health))"
for command in doctor 'cron list' 'memory list' 'session list' 'dlq list' 'pair list' 'backup -'; do
	# shellcheck disable=SC2086 # a command and its arguments
	(bot $command) >"$OUT/said" 2>&1 || fail "bot $command: $(tail -n 5 "$OUT/said")"
done
began=$SECONDS
kill -TERM "$pid"
wait "$pid" || fail "the bot ends with $?"
((SECONDS - began <= 10)) || fail 'the stop takes longer than 10 s'

# A volume that belongs to root: what to run is said.
chown -R 0:0 "$data"
! (bot run) >"$OUT/log" 2>&1 || fail 'the bot runs on a volume of root'
grep -F 'chown -R 65532:65532 /data' "$OUT/log" || fail 'what to run is not said'
echo 'the bot runs in a read-only root of its own as user 65532'
INSIDE
