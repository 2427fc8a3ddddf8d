# The floors of the Makefile: a library includes its own floor's room and those below, never up, never
# sideways; tools do not include tools; above lib/op only lib/grad, lib/lower and lib/onnx name operators.
. "$top/tests/lib.sh"
work=$PWD
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
				grep -vE "include[[:space:]]+\"(($allowed)/|(lib/($allowed)|share)/[^\"]*\.inc\")") # .inc: a text carried along
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
report "no operator is named above its library" "$(grep -nwE "OP_(${ops%|})" -r $(ls -d lib/*/ | grep -vE '/(graph|op|grad|lower|onnx)/') --include=*.[ch] 2>/dev/null)"

# Kinds of CPU: conditions of compilers, headers of intrinsics, registers, numbers of ELF, features and instructions stand in lib/target.
cpu_words='"target/[a-z0-9_]+/|__(x86_64|i386|SSE|AVX|FMA|aarch64|arm|ARM_|riscv|powerpc|s390)|__builtin_(ia32|cpu_)|\<(EM|R|AUDIT_ARCH|HWCAP2?)_(X86|AARCH64|386|RISCV|PPC|S?390|ARM)|HWCAP'
cpu_words="$cpu_words"'|immintrin|(arm_(neon|sve|acle)|cpuid)\.h|\<_mm[0-9]*_|%%?[xyz]mm|cpuinfo|\<(xgetbv|cpuid|mxcsr|fpcr)\>'
instruction_words='(vpdp|vdpbf|vfmadd|pmadd|[su]dot|mmla|fmla|bfdot|smlal|\<ld1r|whilel)|\<v?fma(128|256|512)'
feature_words='\<(avx[0-9a-z_]*|sse[0-9_.]*|avx512_?[a-z0-9]*|f16c|bmi2|vnni|amx[_a-z0-9]*|neon|asimd[a-z]*|sve[0-9]*|i8mm|dotprod|cortex[-a-z0-9]*|neoverse[-a-z0-9]*|zen[0-9]|xeon|skylake)\>'
cpu_named() { # FILE...: lines of C that name a kind of CPU
	grep -nE "$cpu_words" "$@" /dev/null
	grep -niE "$instruction_words|$feature_words" "$@" /dev/null
}
printf '%s\n' '#ifdef __x86_64__' '#include <immintrin.h>' '#include <arm_neon.h>' 'case EM_AARCH64:' 'f("/proc/cpuinfo");' '__builtin_cpu_supports("x")' \
	'CLONES("avx")' '/* as vpdpbusd */' 'target_rate(t, "fma512")' '/* of NEON */' 'x = R_X86_64_COPY;' 'getauxval(AT_HWCAP)' 'smmla' 'whilelt' >"$work/cpus"
report "names of kinds of CPU are found" "$([ "$(cpu_named "$work/cpus" | cut -d: -f2 | sort -u | wc -l)" = 14 ] || cpu_named "$work/cpus")"
report "what a CPU is stands in lib/target alone" "$(cpu_named $(find lib tools clients bench -name '*.[ch]' ! -path 'lib/target/*') $(find lib tools -name '*.in'))"
report "who wants seconds of a group asks search/predict.h" "$(grep -rnE '\<loop_cost\(' lib tools --include='*.[ch]' | grep -vE '^lib/(sched|search)/')$(
	grep -q '\<loop_cost(' lib/search/predict.c || echo 'nor does that ask loop_cost')"

# How long something takes is counted in lib/sched and below, and decided there: lib/lower says what there is to do, lib/model for which sizes.
counts='cycle|cost|margin|hertz|latency|_ports\b|\btarget_(fma_)?rate\(|pays?\b'
decided='version_(may_pay|pays)\(' # by lib/sched
counting() { grep -niE "$counts" "$@" /dev/null | grep -vE "$decided"; } # FILE...: lines that count time
printf '%s\n' 'return bytes / t.l2_a_cycle;' 'static double kept_cycles(void)' '/* It costs more. */' '#define MARGIN 0.8' 'n / m->fma_ports' \
	'x = target_rate(t, "a") / target_fma_rate(t);' 'return wide_fits(L) && schedule_digits_pay(rows);' 'if (pays(fast, slow))' >"$work/counts"
report "counts of time are found" "$([ "$(counting "$work/counts" | wc -l)" = 8 ] || counting "$work/counts")"
sources=$(find lib/lower lib/model -name '*.[ch]')
report "lib/lower and lib/model count no time" "$(counting $sources)"
report "no text is cut short where memory ends: common/textfile.h" "$(grep -rn 'open_memstream(' lib tools bench --include='*.[ch]' | grep -v '^lib/common/msg.c:')"
report "no test includes a tool or bench/" "$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]*(tools|bench)/' -r tests --include='*.[ch]')"

# Circles of headers: who includes whom, without those that include nothing that is left, until there are none.
find lib tools tests -name '*.h' -exec grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' {} + | sed -E 's,^([^:]+):[^"]*"([^"]+)".*,\1 \2,' |
	while read -r file included; do
		for try in "lib/$included" "$(dirname "$file")/$included" "tests/$included"; do
			if [ -e "$try" ]; then echo "$file $(realpath --relative-to=. "$try")"; break; fi
		done
	done >"$work/edges"
circle=$(awk '{ from[NR] = $1; to[NR] = $2 }
	END {
		for (;;) {
			split("", left); gone = 0
			for (i in from) left[from[i]] = 1
			for (i in from) if (!(to[i] in left)) { delete from[i]; delete to[i]; gone = 1 }
			if (!gone) break
		}
		for (i in from) print from[i] " includes " to[i]
	}' "$work/edges")
report "no circles of headers ($(grep -c . "$work/edges") includes)" "$circle$([ -s "$work/edges" ] || echo none are found)"

# A variable in the text of a program runs what is in it: values go to sed, awk, sh and python as arguments or variables. A text that is
# one parameter whole is one that the caller wrote.
texts() { # FILE...: lines that make a program of a variable
	grep -nE '(^|[^[:alnum:]_.-])(sed|g?awk|perl)( +-[A-Za-z]+)* +"[^"]*[$][{(A-Za-z_0-9]' "$@" /dev/null | grep -vE '(sed|awk)( +-[A-Za-z]+)* +"[$][0-9]"'
	grep -nE "(^|[^[:alnum:]_.-])(sed|g?awk|perl)( +-[A-Za-z]+)* +'[^']*'\"?[\$]" "$@" /dev/null
	grep -nE '(^|[^[:alnum:]_.-])((ba)?sh|"?[$]?[{]?(python|torch|HONE_PYTHON)[^ ]*|python3?) +-[A-Za-z]*c +"[^"]*[$][{(A-Za-z_0-9]' "$@" /dev/null
	grep -nE '(^|[^[:alnum:]_.-])eval +[^#]' "$@" /dev/null | grep -v -e '[$](eval ' -e 'tune-model eval '
}
printf '%s\n' 'sed "s/$x/y/" f' 'awk "{ print $1 }"' "sed -n 's/'\"\$x\"'/y/p'" 'sh -c "ls $x"' '"$python" -c "import $1"' 'eval "$x"' >"$work/bad"
report "texts with variables in them are found" "$([ "$(texts "$work/bad" | wc -l)" = 6 ] || texts "$work/bad")"
report "no script makes a program of a variable" "$(texts tests/*.sh tests/*/*.sh bench/*.sh examples/*/*.sh share/hone.mk share/completions/hone Makefile $(ls tools/*/*.sh .ci/run 2>/dev/null) |
	grep -v '^tests/tools/t-floors.sh:')"
report "no program is started by a shell that reads names" "$(grep -nE '(^|[^a-z_])(system|popen)\(' $(find lib tools -name '*.c') /dev/null |
	grep -vE '^lib/(target/tools|runner/toolchain)\.c:|^tools/tune-grad/verify\.c:')" # CC and --verify: commands as their users wrote them

# What programs leave where they are run by hand is no part of the tree.
if git ls-files --error-unmatch Makefile >"$work/files" 2>/dev/null; then
	git ls-files >"$work/files"
	report "nothing that was made is among the $(grep -c . "$work/files") files" "$(grep -E '^[^/]*\.(c|h|g|npz?|log)$|\.(so|o|a|weights|part|orig|rej)$|(^|/)culprit' "$work/files")"
else
	skip "what was made" "no clone"
fi

# Lengths: of files, of functions, of the functions that a tool begins in.
c_files=$(find lib tools tests bench -name '*.[ch]' ! -path 'tests/runner/hostile/*')
report "no file is above 800 lines" "$(wc -l $c_files | awk '$1 > 800 && $2 != "total"')"
awk 'FNR == 1 { head = ""; name = "" }
	/^[a-z].*\)$/ { head = $0 }
	/^{$/ && head != "" { name = head; start = FNR }
	/^}$/ && name != "" { print FNR - start - 1, FILENAME, name; name = head = "" }' $(find lib tools -name '*.c') | sort -n >"$work/functions"
for tool in tools/*/; do sed -nE 's,^[[:space:]]*\.run = ([a-z_]+).*,\1,p' "$tool"*.c 2>/dev/null | marked "$tool "; done >"$work/entries"
long=$(while read -r tool entry; do grep -E " $tool.*[ *]$entry\\(" "$work/functions"; done <"$work/entries" | awk '$1 >= 60 { print } END { if (!NR) print "none found" }')
report "functions that a tool begins in are below 60 lines" "$long"
echo "# $(awk '{ l[NR] = $1 } END { print NR " functions: median " l[int(NR / 2)] " lines, nine of ten at most " l[int(NR * 0.9)] ", longest " l[NR] }' "$work/functions")"

# All native functions in one file: what they share by chance would clash in models.
{
	echo '#include "native/native.h"'
	for f in lib/native/*.c; do case $f in */table.c) ;; *) echo "#include \"$top/$f\"" ;; esac; done
} >"$work/all.c"
clash=$(${CC:-cc} -std=gnu11 -fno-math-errno -Wall -Werror -Ilib -c "$work/all.c" -o "$work/all.o" 2>&1) || clash="${clash:-the compiler ended with $?}"
report "native functions have names of their own" "$clash"
strange=
for f in lib/native/*.c; do
	name=$(basename "$f" .c)
	[ "$name" = table ] || strange="$strange$(sed -nE 's/ __attribute__.*//; s/^(static |enum |struct |union |typedef )[^(=;{]*[ *]([A-Za-z_0-9]+)( ?[\[(=;{].*|)$/\2/p; s/^#define ([A-Za-z_0-9]+).*/\1/p' "$f" |
		grep -viE "^($name(_.*)?|T|FN|WORD)$" | marked " $name: ")"
done
report "names at file scope of native functions begin with the file's" "$strange"
done_testing
