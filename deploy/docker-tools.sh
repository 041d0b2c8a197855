#!/usr/bin/env bash
# What docker-test.sh needs besides an engine. Everything that takes long is
# kept in the folder CACHE.
#
#	docker-tools.sh packages             programs of Debian, where apt can be asked
#	docker-tools.sh plugins CACHE DIR    Compose and BuildKit into DIR, unless docker has them
#	docker-tools.sh images CACHE         base images: pulled, else made under the same names
set -euo pipefail
cd "$(dirname "$0")/.."

compose_version=v2.40.3 # 2.24 is the oldest that reads our files
buildx_version=v0.29.1
cache=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# need installs the packages of programs that are not there: program=package.
need() {
	local program missing=()
	for program in "$@"; do
		command -v "${program%=*}" >/dev/null || missing+=("${program#*=}")
	done
	((${#missing[@]} == 0)) && return
	# A package that would start a service does not in this level.
	export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$work/apt.log" || { tail -n 5 "$work/apt.log" >&2 && exit 1; }
}

# plugin builds a plugin of the docker command from its Go module, unless docker
# has it.
plugin() {
	local dir=$1 name=$2 module=$3 version=$4 main=$5 names=$6 file=$cache/$2-$4 source
	docker "${name#docker-}" version >/dev/null 2>&1 && return
	if [[ ! -x $file ]]; then
		echo "building $name $version"
		source=$(cd "$work" && GOFLAGS='' go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
		(cd "$source" && GOFLAGS='' CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X $module$names.Version=$version" -o "$file.new" "$main")
		mv "$file.new" "$file"
	fi
	ln -sf "$file" "$dir/$name"
}

# minbase is a small Debian as a tar, from the mirror that this machine uses.
minbase() {
	[[ -s $cache/minbase.tar ]] && return
	need debootstrap=debootstrap
	local root=$work/minbase sources
	sources=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | grep -E ' bookworm(-security|-updates)? main$')
	debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$(grep -m1 ' bookworm main$' <<<"$sources" | cut -d' ' -f1)" >"$work/debootstrap.log"
	sed 's/^/deb /' <<<"$sources" >"$root/etc/apt/sources.list"
	printf 'path-exclude /usr/share/%s/*\n' doc man locale info >"$root/etc/dpkg/dpkg.cfg.d/docker"
	rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/usr/share/{doc,man,locale,info}/* "$root/etc/resolv.conf"
	tar -C "$root" -cf "$cache/minbase.tar.new" .
	mv "$cache/minbase.tar.new" "$cache/minbase.tar"
}

# make_image makes a base image that cannot be pulled.
make_image() {
	local root=$work/busybox tar=$work/golang.tar authorities=etc/ssl/certs/ca-certificates.crt name
	case $1 in
	debian:*)
		minbase
		docker import --change 'CMD ["bash"]' "$cache/minbase.tar" "$1"
		;;
	golang:*)
		minbase
		cp "$cache/minbase.tar" "$tar"
		tar -rf "$tar" --owner=0 --group=0 --transform 's,^\.,./usr/local/go,' -C "$(go env GOROOT)" .
		tar --delete -f "$tar" "./$authorities"
		tar -rf "$tar" --owner=0 --group=0 -C / "./$authorities" # those that this machine trusts
		docker import --change 'ENV PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOPATH=/go GOTOOLCHAIN=local' "$tar" "$1"
		;;
	alpine:*)
		mkdir -p "$root"/{bin,etc,root,tmp}
		chmod 755 "$work"
		(cd "$work" && apt-get download -qq busybox-static 2>/dev/null && dpkg-deb --fsys-tarfile busybox-static_*.deb | tar -xO ./bin/busybox >"$root/bin/busybox")
		chmod 755 "$root/bin/busybox"
		for name in $("$root/bin/busybox" --list | grep -vx busybox); do ln -s busybox "$root/bin/$name"; done
		echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
		tar -C "$root" -c . | docker import --change 'CMD ["/bin/sh"]' - "$1"
		;;
	*)
		echo "docker-tools.sh: $1 cannot be made" >&2
		exit 1
		;;
	esac >/dev/null
	echo "made $1 of Debian's packages"
}

case $1 in
packages) need dockerd=docker.io docker=docker.io iptables=iptables ip=iproute2 slirp4netns=slirp4netns git=git openssl=openssl ;;
plugins)
	plugin "$3" docker-compose github.com/docker/compose/v2 $compose_version ./cmd /internal
	plugin "$3" docker-buildx github.com/docker/buildx $buildx_version ./cmd/buildx /version
	;;
images)
	reached=1
	for image in $(sed -nE 's/^FROM (--platform=\S+ )?(\S+:\S+).*/\2/p' deploy/Dockerfile | sort -u); do
		docker image inspect "$image" >/dev/null 2>&1 && continue
		if ((reached)) && timeout 300 docker pull -q "$image" 2>"$work/pull.log"; then continue; fi
		((reached)) && head -c 300 "$work/pull.log"
		reached=0
		make_image "$image"
	done
	;;
esac
