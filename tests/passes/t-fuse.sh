# ge-fuse (fuse/NAME.txt -> NAME.out) and ge-layout (NAME.layout: what it changes in that), and their
# properties: twice is once, --undo and --row-major bring back what was there, the numbers stay.
. "$top/tests/lib.sh"
cases=$top/tests/passes/fuse

is_same() { # FILE FILE WHAT: same body digest
	if same_graph "$1" "$2"; then
		ok 0 "$3"
	else
		ok 1 "$3"
		ge-dump "$1" >1.txt
		ge-dump "$2" | diff 1.txt -
	fi
}

is_golden() { # FILE GOLDEN
	if [ -s fused.txt ] && cmp -s "$1" "$2"; then
		ok 0 "$(basename "$2")"
	else
		ok 1 "$(basename "$2")"
		diff "$2" "$1"
	fi
}

for txt in "$cases"/*.txt; do
	name=$(basename "$txt" .txt)
	ge-load "$txt" | ge-shape -o plain.g && ge-fuse plain.g -o fused.g && ge-layout fused.g -o laid.g
	ge-dump fused.g | grep -v '^provenance' >fused.txt
	ge-dump laid.g | grep -v '^provenance' | diff fused.txt - >laid.diff
	is_golden fused.txt "$cases/$name.out"
	is_golden laid.diff "$cases/$name.layout"

	ge-fuse fused.g -o twice.g
	is_same fused.g twice.g "$name: fused twice"
	ge-fuse --undo fused.g -o undone.g
	ge-fuse undone.g -o again.g
	is_same fused.g again.g "$name: undone and fused again"
	ge-layout laid.g -o twice.g
	is_same laid.g twice.g "$name: laid out twice"
	ge-layout --row-major laid.g -o undone.g
	ge-layout --row-major fused.g -o never.g # the order of groups stays
	is_same never.g undone.g "$name: row-major again"

	[ "$name" = no-shape ] && continue
	if run-ref --seed 3 plain.g -o 1.npz && run-ref --seed 3 laid.g -o 2.npz && equal 1.npz 2.npz; then
		ok 0 "$name: same numbers"
	else
		ok 1 "$name: same numbers"
		cat cmp.log
	fi
done

# Every compute node is inside a group, and --why has a line for each node.
ge-load "$cases/residual.txt" | ge-shape | ge-fuse --why 2>why | ge-dump - | sed -n '/^graph main/,$p' >main.txt
grep ' = ' main.txt | grep -v '^  output' >nodes
grep -q 'hone.Fused' nodes && ! grep -v 'hone.Fused\|Flatten' nodes
ok $? "all inside"
[ "$(wc -l <why)" -eq 15 ]
ok $? "why" || cat why

# Plans: that of the rules gives the same graph; one by hand gives its own groups and the same numbers; what cannot be is refused.
ge-load "$cases/residual.txt" | ge-shape -o plain.g && ge-fuse --write-plan rules.plan plain.g -o fused.g && ge-fuse --plan rules.plan plain.g -o again.g
is_same fused.g again.g "the plan of the rules"
[ "$(grep -c '^group' rules.plan)" = "$(ge-dump fused.g | grep -c ' = hone.Fused')" ]
ok $? "a line a group"
by_hand() { { head -2 rules.plan && printf 'group %s\n' "$@"; } >hand.plan; }
by_hand c0 'd1 d2' 'c1 r1 c2'
ge-fuse --plan hand.plan plain.g -o hand.g && ge-fuse --write-plan written.plan --plan hand.plan plain.g | ge-stat --digest >digest &&
	ge-check -q hand.g && grep -qx 'group c0' written.plan && grep -qx 'group d1 d2' written.plan && grep -qx 'group c1 r1 c2' written.plan &&
	[ "$(cat digest)" = "$(ge-stat --digest hand.g)" ] && run-ref --seed 3 plain.g -o 1.npz && run-ref --seed 3 hand.g -o 2.npz && equal 1.npz 2.npz
ok $? "a plan by hand"
sed 's/^group c1/row-major c1/' hand.plan >rows.plan && ge-fuse --plan rows.plan plain.g -o rows.g && ge-fuse --write-plan written.plan --plan rows.plan plain.g -o /dev/null &&
	grep -qx 'row-major c1 r1 c2' written.plan && [ "$(ge-dump rows.g | grep -c 'row_major=1')" = 1 ] && ge-check -q rows.g
ok $? "a group that stays row-major"
ge-layout hand.g | ge-schedule -q | ge-plan -q -o planned.g && [ "$(ge-stat --json planned.g | grep -c Fused)" -ge 1 ]
ok $? "schedules of a group of two convolutions"
hand_refused() { # LINE REASON WHAT GROUP...
	local line=$1 reason=$2 what=$3
	shift 3
	by_hand "$@"
	refused 65 "hand.plan:$line: $reason" "$what" ge-fuse --plan hand.plan plain.g -o none.g
}
hand_refused 4 'no node of graph' "no such node" c0 c9
hand_refused 4 'r0 is in a group already' "a node twice" 'c0 r0' r0
hand_refused 3 'f is in no group' "a view" 'g f'
hand_refused 4 'the group waits for its own results' "a path that comes back" c0 'c1 c2'
hand_refused 4 'a name expected' "no name" c0 '='
by_hand c0 && sed -i 's/^group/threads 0 group/' hand.plan
refused 65 "hand.plan:3: a number of threads from 1" "no thread" ge-fuse --plan hand.plan plain.g -o none.g
by_hand c0 && sed -i 's/^graph.*/graph body/' hand.plan
refused 65 "hand.plan:3: no such graph: body" "no such graph" ge-fuse --plan hand.plan plain.g -o none.g
refused 65 "a plan of another graph" "another graph's plan" ge-fuse --plan rules.plan fused.g -o none.g
refused 65 "plain.g:1: 'hone-plan 1' expected" "no plan" ge-fuse --plan plain.g plain.g -o none.g
refused 66 none.plan "a plan that is not there" ge-fuse --plan none.plan plain.g -o none.g
refused 64 --undo "a plan for --undo" ge-fuse --undo --plan rules.plan fused.g -o none.g
printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[4]\n  a = Relu(x)\n  b = Tanh(a)\n  c = Exp(x)\n  d = Neg(c)\n  y = Add(b, d)\n  output y = y\n}\n' |
	ge-load | ge-shape -o plain.g && printf 'hone-plan 1 %s\ngraph main\ngroup a d\ngroup b c\n' "$(ge-stat --digest plain.g)" >hand.plan
refused 65 "hand.plan:3: the group waits" "two that wait for each other" ge-fuse --plan hand.plan plain.g -o none.g

# A part of another graph keeps the layouts of its ends, and is compiled so; a graph that is none has rows there.
part() { # META: a convolution between ends with channels innermost
	printf 'hone-text 1\nmodule ir=10 opset=28\n%sconst w = f32[2,2,1,1] [1, 2, 3, 4]\ngraph main {\n  input x: f32[1,2,3,3]@"0 2 3 1"\n' "$1"
	printf '  c = Conv(x, @w)\n  y: f32[1,2,3,3]@"0 2 3 1" = Relu(c)\n  output y = y\n}\n'
}
laid_ends() { ge-dump "$1" | sed -n '/^graph main/,$p' | grep -c '"0 2 3 1"'; }
part 'meta "hone.part" = "1"
' | ge-load | ge-shape | ge-fuse | ge-layout -o part.g && ge-layout part.g -o twice.g && same_graph part.g twice.g && ge-plan -q part.g | ge-emit -q -o part
is "$? $(laid_ends part.g)" "0 2" "a part keeps the layouts of its ends"
part '' | ge-load | ge-shape | ge-fuse | ge-layout -o whole.g
is "$? $(laid_ends whole.g)" "0 0" "another graph does not"

# A product of many operands becomes products of two in the cheapest order: a chain from its narrow end. What is under "..." gets
# letters; a letter twice, or nowhere else, is gone before; halves are not rounded in between.
einsum() { # OPERANDS EQUATION COUNT [SIZES]: so many Einsums are there then
	{
		printf 'hone-text 1\nmodule ir=8 opset=17\n'
		for o in $(echo "${4-}" | tr , " "); do echo "symbol ${o%=*} 0 inf"; done
		echo 'graph main {'
		for o in $1; do echo "  input ${o%%:*}: ${o#*:}"; done
		printf '  y = Einsum(%s) {equation="%s"}\n  output y = y\n}\n' "$(for o in $1; do printf '%s' "$sep${o%%:*}"; sep=', '; done)" "$2"
	} >e.txt
	if ge-load e.txt | ge-shape -o e.g && ge-fuse -q e.g -o f.g && [ "$(ge-dump f.g | grep -c ' = Einsum(')" = "$3" ] && ge-check -q f.g &&
		[ "$(ge-fuse f.g | ge-stat --digest)" = "$(ge-stat --digest f.g)" ] && run-ref --seed 3 ${4:+--set "$4"} e.g -o 1.npz && run-ref --seed 3 ${4:+--set "$4"} f.g -o 2.npz && equal 1.npz 2.npz; then
		ok 0 "$2: $3"
	else
		ok 1 "$2: $3"
	fi
}
einsum 'a:f32[9,8] b:f32[8,7] c:f32[7,6] d:f32[6]' 'ij,jk,kl,l->i' 3
ge-dump f.g | grep -q '"kl,l->k"'
ok $? "from the narrow end"
einsum 'a:f32[2,3,4] b:f32[4,5] c:f32[1,5,2]' '...a,ab,...bc->...c' 2
einsum 'a:f64[3,3,4] b:f64[4,5] c:f64[5,2]' 'iij,jk,kl->l' 3
einsum 'a:f16[3,4] b:f16[4,5] c:f16[5,2]' 'ij,jk,kl->il' 1
einsum 'a:f32[3] b:f32[4] c:f32[5] d:f32[2]' 'a,b,c,d->dbca' 3
# Open sizes, where all axes of a letter have one, or 1; two symbols of one letter may be 1 and not 1.
einsum 'a:f32[n,8] b:f32[8,m] c:f32[1,k] d:f32[k]' 'ij,jk,kl,l->i' 3 n=3,m=4,k=2
einsum 'a:f32[h,n,k] b:f32[h,k,m] c:f32[m,m]' '...ij,...jk,kk->i' 3 h=2,n=3,k=4,m=5
einsum 'a:f32[n,k] b:f32[p,m] c:f32[m,2]' 'ij,jk,kl->il' 1 n=3,k=4,p=4,m=5
done_testing
