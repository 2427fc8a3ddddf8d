#!/bin/sh
# deps.sh PACKAGE...: installs the Debian packages that are missing, and says which.
missing=
for p; do
	dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
echo "installing:$missing"
command -v apt-get >/dev/null || { echo "no apt-get here; install by hand:$missing" >&2; exit 69; }
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || { echo "no sudo here; root must run: apt-get update && apt-get install -y$missing" >&2; exit 77; }
	sudo=sudo
fi
# shellcheck disable=SC2086
$sudo apt-get update -q >/dev/null && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q $missing >/dev/null
