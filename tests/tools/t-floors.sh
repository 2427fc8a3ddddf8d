# The floors of the Makefile: a library includes its own floor's room and those below, never up, never
# sideways; tools do not include tools; above lib/op only lib/lower and lib/onnx name operators.
. "$top/tests/lib.sh"
cd "$top" || exit 1
floors=$(sed -n 's/^FLOORS *= *//p' Makefile)
[ -n "$floors" ] || { ok 1 "no FLOORS in the Makefile"; exit 1; }

report() { # what, offending lines
	if [ -z "$2" ]; then ok 0 "$1"; else ok 1 "$1"; printf '%s\n' "$2" | sed 's/^/# /'; fi
}

below= this=
for room in $floors /; do
	if [ "$room" = / ]; then
		for r in $this; do
			allowed=$(echo "$below" "$r" | tr -s ' ' '|' | sed 's/^|//')
			bad=$(grep -rnE --include="*.[ch]" '^[[:space:]]*#[[:space:]]*include[[:space:]]+"([a-z_]+/|\.\./)' "lib/$r" 2>/dev/null |
				grep -vE "include[[:space:]]+\"(($allowed)/|lib/$r/[^\"]*\.inc\")") # .inc: a text carried along
			report "lib/$r includes itself and: $(echo ${below:-nothing})" "$bad"
		done
		below="$below $this" this=
	else
		this="$this $room"
	fi
done
for d in lib/*/; do
	r=$(basename "$d")
	case " $floors " in *" $r "*) ;; *) report "lib/$r is on a floor" "$d is not in FLOORS" ;; esac
done
rooms=$(echo "$floors" | tr -d / | tr -s ' ' '|')
report "tools include libraries and their own files" "$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]*/' tools/*/*.[ch] 2>/dev/null |
	grep -vE "include[[:space:]]+\"(($rooms)/|[^\"]*\.inc\")")" # .inc: a text carried along
ops=$(sed -n 's/^.X(\([A-Za-z0-9]*\),.*/\1/p' lib/graph/oplist.h | grep -vx Fused | tr '\n' '|')
report "the list has operators" "$([ ${#ops} -gt 1000 ] || echo "none in lib/graph/oplist.h")"
report "no operator is named above its library" "$(grep -nwE "OP_(${ops%|})" -r $(ls -d lib/*/ | grep -vE '/(graph|op|lower|onnx)/') --include=*.[ch] 2>/dev/null)"
report "what a CPU is stands in lib/target alone" "$(grep -rnE --include='*.[ch]' --include='*.in' '"target/[a-z0-9_]+/|__SSE|__AVX|__aarch64__|__builtin_ia32|_mm_|%%?[xyz]mm' lib tools bench 2>/dev/null |
	grep -v '^lib/target/')"
done_testing
