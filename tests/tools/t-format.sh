# The form of the C files is clang-format's, by .clang-format (version 14, Debian 12's; others differ).
. "$top/tests/lib.sh"
cd "$top" || exit 1
case $(clang-format-14 --version 2>/dev/null) in
*" version 14."*) ;;
*) skip_all "form" "no clang-format 14" ;;
esac
# hostile samples are written as their authors would
find lib tools tests bench examples -name '*.[ch]' ! -path 'tests/runner/hostile/*' -print0 | xargs -0 clang-format-14 --dry-run 2>&1 |
	sed -nE 's/^([^:]+):[0-9]+:[0-9]+: warning: .*/\1/p' | sort -u >"$OLDPWD/bad"
if [ -s "$OLDPWD/bad" ]; then
	ok 1 "form: clang-format-14 -i mends it"
	sed 's/^/# /' "$OLDPWD/bad"
else
	ok 0 "form"
fi
done_testing
