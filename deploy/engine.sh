#!/usr/bin/env bash
# A Docker engine of its own for tests, on a machine that may have another: its
# network, its mounts and its processes are apart, so that nothing of it is left
# when it ends, and so that it can be cut off like a machine without power. Its
# way out is slirp4netns; it has no IPv6. As root.
#
#	engine.sh start FOLDER STORE     STORE keeps images and volumes between starts
#	engine.sh stop FOLDER            in an orderly way, as a machine that is shut down
#	engine.sh crash FOLDER           the power is cut
#	engine.sh remove FOLDER          cut, and everything but STORE taken away
#	engine.sh in FOLDER COMMAND…     runs a command in its network, where ports are published
#
# The engine listens on FOLDER/docker.sock and logs to FOLDER/log.
set -euo pipefail
do=$1
dir=$2
shift 2

alive() { [[ -s $dir/$1.pid ]] && kill -0 "$(<"$dir/$1.pid")" 2>/dev/null; }

# gone waits until a process has ended.
gone() {
	while alive "$1"; do sleep 0.1; done
	rm -f "$dir/$1.pid"
}

# network makes a network of its own with a way out, kept by a process that
# sleeps.
network() {
	alive network && return
	setsid unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
	echo $! >"$dir/network.pid"
	while [[ $(readlink "/proc/$(<"$dir/network.pid")/ns/net") == "$(readlink /proc/self/ns/net)" ]]; do sleep 0.1; done
	mkfifo "$dir/ready"
	setsid slirp4netns --configure --mtu=65520 --ready-fd=3 "$(<"$dir/network.pid")" tap0 </dev/null >"$dir/network.log" 2>&1 3>"$dir/ready" &
	echo $! >"$dir/slirp.pid"
	[[ $(head -c 1 "$dir/ready") == 1 ]] || fail "slirp4netns: $(<"$dir/network.log")"
	rm "$dir/ready"
}

in_network() { nsenter --net="/proc/$(<"$dir/network.pid")/ns/net" "$@"; }

fail() {
	echo "engine.sh: $*" >&2
	exit 1
}

# driver is the best store for images that works in a folder.
driver() {
	mkdir -p "$1/try/"{lower,upper,work,merged}
	if unshare --mount mount -t overlay overlay -o "lowerdir=$1/try/lower,upperdir=$1/try/upper,workdir=$1/try/work" "$1/try/merged" 2>/dev/null; then
		echo overlay2
	elif [[ -e /dev/fuse ]] && command -v fuse-overlayfs >/dev/null; then
		echo fuse-overlayfs
	else
		echo vfs
	fi
	rm -rf "$1/try"
}

start() {
	local store=$1
	mkdir -p "$dir" "$store"
	echo "$store" >"$dir/store"
	network
	cat >"$dir/daemon.json" <<-CONFIG
		{
			"hosts": ["unix://$dir/docker.sock"],
			"data-root": "$store", "exec-root": "/run/magpie-docker", "pidfile": "/run/magpie-docker.pid",
			"storage-driver": "$(driver "$store")", "exec-opts": ["native.cgroupdriver=cgroupfs"], "cgroup-parent": "/magpie-docker",
			"bip": "10.213.0.1/24", "default-address-pools": [{"base": "10.214.0.0/16", "size": 24}]
		}
	CONFIG
	rm -f "$dir/docker.sock"
	nsenter --net="/proc/$(<"$dir/network.pid")/ns/net" \
		setsid unshare --mount --pid --fork --kill-child --mount-proc bash "$0" machine "$dir" </dev/null >>"$dir/log" 2>&1 &
	echo $! >"$dir/machine.pid"
	for ((i = 0; i < 600; i++)); do
		DOCKER_HOST=unix://$dir/docker.sock docker version >/dev/null 2>&1 && return
		alive machine || break
		sleep 0.1
	done
	tail -n 20 "$dir/log" >&2
	fail 'the engine does not start'
}

# machine is the first process of the machine.
machine() {
	mount -t tmpfs -o mode=755 tmpfs /run
	local names
	names=$(readlink -f /etc/resolv.conf)
	mkdir -p "$(dirname "$names")"
	[[ -e $names ]] || touch "$names"
	echo 'nameserver 10.0.2.3' >"$dir/resolv.conf" # slirp4netns asks what this machine asks
	mount --bind "$dir/resolv.conf" "$names"
	dockerd --config-file "$dir/daemon.json" &
	local engine=$!
	trap 'kill -TERM $engine' TERM
	while kill -0 $engine 2>/dev/null; do wait $engine || true; done
}

crash() {
	alive machine && kill -KILL "$(<"$dir/machine.pid")"
	gone machine
	alive network || return 0
	in_network ip -o link show type bridge | cut -d: -f2 | while read -r bridge; do in_network ip link delete "$bridge"; done
	for table in filter nat; do
		in_network iptables -t $table -F
		in_network iptables -t $table -X
	done
}

case $do in
start) start "$@" ;;
machine) machine ;;
stop)
	pkill -TERM -P "$(<"$dir/machine.pid")"
	gone machine
	;;
crash) crash ;;
remove)
	crash || true
	for name in slirp network; do
		alive $name && kill -KILL "$(<"$dir/$name.pid")"
	done
	find /sys/fs/cgroup -depth -type d -path '*/magpie-docker*' -exec rmdir {} + 2>/dev/null || true
	rm -rf "$dir"
	;;
in) in_network "$@" ;;
*) fail "start, stop, crash, remove or in, got $do" ;;
esac
