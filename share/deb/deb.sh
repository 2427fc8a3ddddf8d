#!/bin/sh
# Makes a Debian package of what make install puts under a folder: deb.sh ROOT FOLDER. ROOT is changed to Debian's customs, FOLDER gets
# hone_VERSION_ARCH.deb. The same ROOT gives the same bytes. DEBFULLNAME and DEBEMAIL say who makes it, as for Debian's own tools.
set -eu
export LC_ALL=C SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
root=$1 to=$2
version=$("$root/usr/bin/hone" --version | sed 's/.* //')
arch=$(dpkg --print-architecture)
libraries=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
maker="${DEBFULLNAME:-hone} <${DEBEMAIL:-hone@localhost}>"
doc=$root/usr/share/doc/hone

# The library for passes lies where a compiler for this machine looks; ../.. of its page is then usr/lib.
mkdir -p "$libraries"
mv "$root/usr/lib/libhone.a" "$root/usr/lib/pkgconfig" "$libraries"
sed -i 's|^prefix=.*|prefix=${pcfiledir}/../../..|; s|^Libs: .*|Libs: -L${pcfiledir}/.. -lhone|' "$libraries/pkgconfig/hone.pc"

# The lock of the knowledge base is made by whoever opens it to write.
rm -f "$root/usr/share/hone/kb-lock"

# The licence is in the copyright file; pages and news are compressed; of examples and clients, programs alone may be run.
mkdir -p "$root/DEBIAN"
mv "$doc/NEWS" "$doc/changelog"
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: hone

Files: *
Copyright: $(date -ud "@$SOURCE_DATE_EPOCH" +%Y), the authors of hone
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.

Files: usr/share/doc/hone/examples/digits/*.npy
Copyright: the UCI Machine Learning Repository
License: CC-BY-4.0
 Optical Recognition of Handwritten Digits; https://creativecommons.org/licenses/by/4.0/
END
rm -f "$doc/LICENSE"
printf 'hone (%s) unstable; urgency=medium\n\n  * Built by make deb.\n\n -- %s  %s\n' "$version" "$maker" "$(date -Rud "@$SOURCE_DATE_EPOCH")" >"$doc/changelog.Debian"
gzip -9nf "$doc/changelog" "$doc/changelog.Debian" "$root"/usr/share/man/man*/*.[157]
find "$root" -type d -exec chmod 755 {} +
find "$doc" "$root/usr/include" "$root/usr/lib" "$root/usr/share/hone" -type f -exec chmod 644 {} +
find "$doc/examples" "$root/usr/share/hone" \( -name '*.sh' -o -name '*.py' \) -exec sh -c 'for f; do head -c2 "$f" | grep -q "#!" && chmod 755 "$f"; done; :' sh {} +

# Depends: the libraries that the programs are linked with; gcc and binutils compile models.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: hone\n\nPackage: hone\nArchitecture: any\n' >"$work/debian/control"
programs=$(find "$(realpath "$root")/usr" -type f -perm -100 ! -path '*/share/*')
depends=$(cd "$work" && echo "$programs" | tr '\n' '\0' | xargs -0 dpkg-shlibdeps -O 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
cat >"$root/DEBIAN/control" <<END
Package: hone
Version: $version
Architecture: $arch
Maintainer: $maker
Section: science
Priority: optional
Depends: $depends, gcc, libc6-dev, binutils
Recommends: python3
Suggests: python3-numpy, parallel
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Description: compiler for neural networks
 hone compiles ONNX models to native CPU libraries, in C that can be read, and
 tunes them on the machine that they run on. Between the model and the library
 stands a chain of small programs: each reads a graph and writes a graph.
END
(cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$to"
dpkg-deb --root-owner-group -Zxz --build "$root" "$to/hone_${version}_$arch.deb"
