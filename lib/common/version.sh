#!/bin/sh
# The version of hone, as hone --version says it: the release and, where git knows more, how many commits there are since its tag (without
# the tag, since the first) and the last of them: 0.1.0+2345.e4d8dada12. Ends with 1, and says the release, where git cannot read the tree.
cd "$(dirname "$0")/../.." || exit
release=$(sed -n 's/^#define HONE_VERSION "\(.*\)"$/\1/p' lib/common/tool.h)
[ -e .git ] || { echo "$release" && exit; }
commit=$(git rev-parse -q --verify --short=10 HEAD 2>/dev/null) || { echo "$release" && exit 1; }
since=
! git rev-parse -q --verify "refs/tags/v$release" >/dev/null || since=v$release..
count=$(git rev-list --count "${since}HEAD")
[ "$(git rev-parse --is-shallow-repository)" = false ] || count= # it has not all of them
[ "$count" = 0 ] || release=$release+${count:+$count.}$commit
echo "$release"
