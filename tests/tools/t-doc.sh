# The manual: a page for every tool, every tool in hone(7), every option in its page and no other, no page malformed.
. "$top/tests/lib.sh"
cd "$top" || exit 1
for dir in tools/*/; do
	tool=$(basename "$dir") page=$dir$(basename "$dir").1
	[ -x "bin/$tool" ] || continue
	[ -e "$page" ] || { nothing "$tool has a page" "no $page"; continue; }
	nothing "hone(7) lists $tool" "$(grep -q "^.It Xr $tool 1" doc/hone.7 || echo no)"
	help=$("bin/$tool" --help)
	# In mdoc -x is written Fl x and --x Fl -x; --help, --usage, --version and --facts are every tool's.
	nothing "$page has its options" "$(printf "%s\n" "$help" | grep -oE '^ +(-[a-zA-Z], )?--[a-z][a-z-]*' | sed 's/, / /' |
		while read -r option long; do # by letter or by name
			case ${long:-$option} in --help | --usage | --version | --quiet | --facts) continue ;; esac
			grep -qF -e "Fl ${option#-}" ${long:+-e "Fl ${long#-}"} "$page" || echo "$option"
		done)"
	nothing "$page promises no others" "$(sed -nE 's/^\.(It|Op) Fl/Fl/p' "$page" | grep -oE '(Fl|,) -?[a-z][a-z-]*' | sed 's/.* -/--/; s/.* /-/' |
		sort -u | while read -r option; do
			printf "%s\n" "$help" | grep -qE -e "(^|[ ,])$option([^a-z-]|\$)" || echo "$option"
		done)"
done
nothing "doc/rooms.md has every room of FLOORS" "$(sed -n 's/^FLOORS *= *//p' Makefile | tr ' ' '\n' | grep '[a-z]' | while read -r room; do
	grep -q "^| \`lib/$room\` |" doc/rooms.md || echo "lib/$room"
done)"
# A path with a part in capitals, as tests/ROOM/NAME.c, stands for many; one that ends in - too.
nothing "the files that doc/ and README.md name are there" "$(grep -noE '(^|[^A-Za-z0-9_./-])(lib|tools|tests|bench|doc|share|examples|clients)/[A-Za-z0-9_./-]+' \
	README.md doc/* examples/*/README.md | sed 's/:[^a-z:]\([a-z]\)/:\1/; s/[.]*$//' | while IFS=: read -r page line path; do
	case $path in *[A-Z][A-Z]* | *-) continue ;; esac
	[ -e "$path" ] || [ -e "$path.c" ] || [ -e "bin/${path##*/}" ] || echo "$page:$line: $path"
done)"
nothing "doc/contrib.md names the operators that lib/onnx/contrib reads" "$(diff "$(
	sed -n 's/^\t{"\([A-Za-z0-9]*\)", [0-9]*, .*/\1/p' lib/onnx/contrib/*.c | LC_ALL=C sort >"$OLDPWD/read"
	echo "$OLDPWD/read"
)" "$(
	sed -n 's/^| \([A-Z][^|]*\) |.*/\1/p' doc/contrib.md | tr -d ' ' | tr ',' '\n' | LC_ALL=C sort >"$OLDPWD/said"
	echo "$OLDPWD/said"
)")"
nothing "links between pages lead somewhere" "$(grep -noE '\]\([^)#:]+\)' README.md doc/*.md examples/*/README.md | while IFS=: read -r page line link; do
	link=${link#*(} && link=${link%)}
	[ -e "$(dirname "$page")/$link" ] || echo "$page:$line: $link"
done)"
if command -v mandoc >/dev/null; then
	nothing "mandoc finds nothing wrong" "$(mandoc -Tlint -Wwarning tools/*/*.1 doc/*.[57])"
else
	skip "mandoc finds nothing wrong" "no mandoc"
fi
done_testing
