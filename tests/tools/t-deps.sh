# A bare machine: deps.sh says what root must type where there is no sudo.
. "$top/tests/lib.sh"

mkdir fake
printf '#!/bin/sh\nexit 1\n' > fake/dpkg-query
printf '#!/bin/sh\nexit 0\n' > fake/apt-get
printf '#!/bin/sh\necho 1000\n' > fake/id
chmod 755 fake/*
ln -s "$(command -v grep)" fake/grep
(PATH=$PWD/fake /bin/sh "$top/tests/deps.sh" gcc make >out 2>err)
is "$? $(cat err)" "77 no sudo here; root must run: apt-get update && apt-get install -y gcc make" "without sudo"
printf '#!/bin/sh\necho "$*" >> asked\n' > fake/sudo
chmod 755 fake/sudo
(PATH=$PWD/fake /bin/sh "$top/tests/deps.sh" gcc >out 2>err)
is "$? $(cat asked)" "0 apt-get update -q
apt-get install -y -q gcc" "with sudo"
done_testing
