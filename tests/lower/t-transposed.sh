# Transposed convolutions in libraries: the evaluator's numbers, whatever strides, dilations, pads, groups and layouts.
. "$top/tests/lib.sh"

# convt SHAPE WEIGHTS ATTRIBUTES: one node, bias too; its operand and result also with channels innermost, between others.
count() { echo "$(($(echo "$1" | tr , '*')))"; }
numbers() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101) / 50 - 1 }'; }
convt() {
	i=$((i + 1))
	channels=$(echo "$1" | cut -d, -f2)
	groups=$(echo " $3" | sed -n "s/.* group=\([0-9]*\).*/\1/p")
	out=$(($(echo "$2" | cut -d, -f2) * ${groups:-1}))
	echo "const w$i = f32[$2] [$(numbers "$(count "$2")")]" >>consts
	echo "const b$i = f32[$out] [$(numbers "$out")]" >>consts
	printf '  input x%d: f32[%s]\n  y%d = ConvTranspose(x%d, @w%d, @b%d) {%s}\n  output y%d = y%d\n' "$i" "$1" "$i" "$i" "$i" "$i" "$3" "$i" "$i" >>nodes
	case $1 in
	*,*,*,*,*) ;;
	*,*,*,*)
		echo "const u$i = f32[$channels,$channels,1,1] [$(numbers $((channels * channels)))]" >>consts
		printf '  p%d = Conv(x%d, @u%d)\n  q%d = ConvTranspose(p%d, @w%d) {%s}\n  r%d = Relu(q%d)\n  s%d = MaxPool(r%d) {kernel_shape=[2,2]}\n  output s%d = s%d\n' \
			"$i" "$i" "$i" "$i" "$i" "$i" "$3" "$i" "$i" "$i" "$i" "$i" "$i" >>nodes
		;;
	esac
}
i=0
convt 1,5,6,7 5,3,2,2 'strides=[2,2]'
convt 2,16,5,9 16,12,4,4 'strides=[2,2] pads=[1,1,1,1]'
convt 1,4,6,5 4,17,3,3 'strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]'
convt 1,4,6,5 4,3,3,3 'strides=[2,3] pads=[0,1,2,1] output_padding=[1,2]'
convt 1,6,7,7 6,2,3,3 'group=3 strides=[2,1] pads=[1,1,1,1]'
convt 1,16,5,5 16,1,4,4 'group=16 strides=[2,2] pads=[1,1,1,1]'
convt 1,3,6,6 3,4,3,3 'strides=[3,3] dilations=[2,2]'
convt 1,3,6,6 3,4,3,2 'strides=[2,4] dilations=[2,2] pads=[1,0,0,1]'
convt 1,3,6,6 3,4,3,3 'dilations=[2,3] pads=[2,3,2,3]'
convt 1,3,5,5 3,18,5,5 'strides=[4,2] dilations=[3,1] output_padding=[2,1]'
convt 1,3,5,5 3,4,3,3 'strides=[2,2] output_shape=[10,12]'
convt 1,3,5,5 3,4,3,3 'strides=[2,2] auto_pad="SAME_LOWER"'
convt 1,3,5,5 3,4,3,3 'strides=[3,2] auto_pad="SAME_UPPER"'
convt 1,3,5,5 3,4,1,2 'strides=[3,3]'
convt 1,8,37 8,4,16 'strides=[8] pads=[4,4]'
convt 2,4,9 4,1,5 'group=4 strides=[3] dilations=[2] pads=[1,0]'
convt 1,2,3,4,3 2,3,3,2,3 'strides=[2,2,1] pads=[1,0,1,1,0,1]'
{ printf 'hone-text 1\nmodule ir=8 opset=17\n' && cat consts && echo 'graph main {' && grep '^  input' nodes && grep -v '^  input' nodes && echo '}'; } >many.txt
ge-load many.txt | ge-shape | ge-fuse | ge-layout | ge-plan --no-fallback -q -o many.g && ge-emit many.g -o many && equal --tol 2e-5 many.so many.g
ok $? "$i of them: the evaluator's numbers"


# No zeros are multiplied that another way to do it would leave out: multiply-adds are seen in the loops' extents.
printf 'hone-text 1\nmodule ir=8 opset=17\nconst w = f32[8,4,4,4] [%s]\ngraph main {\n  input x: f32[1,8,14,14]\n  y = ConvTranspose(x, @w) {strides=[2,2] pads=[1,1,1,1]}\n  output y = y\n}\n' "$(numbers 512)" |
	ge-load | ge-shape | ge-fuse | ge-plan -q -o four.g && ge-emit --no-compile four.g -o four && grep -q 'stage conv(.*+i:8 +kh:2 +kw:2)' four.c
ok $? "four taps at a step of two: two of each phase"

# Without taps in between it is a matrix product of all pixels, whatever their width.
printf 'hone-text 1\nmodule ir=8 opset=17\nconst w = f32[8,4,2,2] [%s]\ngraph main {\n  input x: f32[1,8,10,10]\n  y = ConvTranspose(x, @w) {strides=[2,2]}\n  output y = y\n}\n' "$(numbers 128)" |
	ge-load | ge-shape | ge-fuse | ge-plan -q -o two.g && ge-emit --no-compile two.g -o two && grep -q 'stage conv(o:16 hw:1[0-9]* +i:8)' two.c
ok $? "one tap a phase: a matrix product"
done_testing
