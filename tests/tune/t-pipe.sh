# tune-op --strategy pipe:COMMAND: a program says which schedules are tried; one that ends or lies is one line.
. "$top/tests/lib.sh"
export HONE_KB=$PWD/kb
tune() { tune-op --quiet --runner fake --trials 6 --task 'Conv{pads=1,1,1,1} f32 1x8x12x12 16x8x3x3c' --strategy "$@"; }
# Decides nothing, but from each origin, and notes what it hears.
cat >origins <<'END'
#!/bin/sh
n=0 at=0
while read -r line; do
	echo "$line" >>heard
	case $line in
	origin*) n=$((n + 1)) ;;
	propose*)
		left=${line#propose }
		while [ "$left" -gt 0 ] && [ $((at += 1)) -lt "$n" ]; do
			echo "try $at"
			read -r line && echo "$line" >>heard
			left=$((left - 1))
		done
		echo done
		;;
	esac
done
END
chmod +x origins
tune pipe:./origins >records 2>err
is "$? $(head -1 heard | cut -d' ' -f1-2) $(grep -c '^point 0 0 1 .*=.*:' heard)" "0 strategy 1 1" "a program hears of origins and the default schedule"
said=$(awk '$1 == "point" && $4 == "-" { n++ } END { print n + 0 }' heard)
[ "$said" -gt 0 ] && [ "$(awk '$1 == "point" && $4 != "-" && $2 > 0 { print $2 }' heard | sort -u | wc -l)" = "$said" ]
ok $? "each of its $said schedules is timed, and it is told"
if command -v python3 >/dev/null; then
	tune "pipe:$top/examples/strategy/climb.py" --seed 3 >one 2>err && HONE_KB=$PWD/kb2 tune "pipe:$top/examples/strategy/climb.py" --seed 3 >two 2>err && cmp one two && [ "$(wc -l <one)" -gt 3 ]
	ok $? "the example: $(grep -c . one) records, the same again"
else
	skip "the example" "no python3"
fi
refused 69 "it ended (3) before it proposed schedules" "one that ends" tune "pipe:exit 3"
refused 65 "neither try nor done: rubbish" "one that writes something else" tune "pipe:echo rubbish; cat"
refused 65 "there is no such origin: try 99" "an origin that is none" tune "pipe:echo try 99; cat"
refused 65 "a decision is none of its choices: try 0 " "a decision that is none" tune \
	'pipe:while read -r word p o ratio first more; do case $word in point) name=${first%%=*} ;; propose) echo "try 0 $name=nothing" ;; esac; done'
refused 64 "which command" "no command" tune "pipe: "
done_testing
