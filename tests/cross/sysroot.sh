#!/bin/sh
# sysroot.sh ARCH FOLDER PACKAGE...: Debian's packages of another architecture, unpacked in FOLDER. apt keeps its lists of them there, so
# that this machine gets no foreign architecture. What is there already stays.
set -eu
arch=$1 root=$2
shift 2
[ ! -e "$root/done" ] || [ "$(cat "$root/done")" != "$*" ] || exit 0
command -v apt-get >/dev/null || { echo "no apt-get here: unpack in $root by hand: $*" >&2; exit 69; }
rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/debs"
root=$(cd "$root" && pwd)
: >"$root/apt/status"
cat >"$root/apt/conf" <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "$(id -un)";
Dir::State "$root/apt";
Dir::State::status "$root/apt/status";
Dir::State::lists "$root/apt/lists";
Dir::Cache "$root/apt/cache";
END
export APT_CONFIG="$root/apt/conf"
apt-get update -q >/dev/null
(cd "$root/debs" && apt-get download -q "$@" >/dev/null)
for deb in "$root"/debs/*.deb; do
	dpkg -x "$deb" "$root"
done
rm -rf "$root/apt" "$root/debs"
echo "$*" >"$root/done"
