# Resize in libraries: the evaluator's numbers in every mode, pixels or channels innermost, none on the slow path.
. "$top/tests/lib.sh"

# resize SHAPE SCALES|- SIZES|- ATTRIBUTES
resize() {
	i=$((i + 1))
	s=- z=-
	[ "$2" = - ] || { s=@s$i && echo "const s$i = f32[4] [$2]" >>consts; }
	[ "$3" = - ] || { z=@z$i && echo "const z$i = i64[4] [$3]" >>consts; }
	echo "  input x$i: f32[$1]" >>inputs
	# with windows around it its channels are innermost
	printf '  y%d = Resize(x%d, %s, %s, %s) {%s}\n  p%d = MaxPool(x%d) {kernel_shape=[1,1]}\n  q%d = Resize(p%d, %s, %s, %s) {%s}\n  r%d = MaxPool(q%d) {kernel_shape=[1,1]}\n  output y%d = y%d\n  output r%d = r%d\n' \
		"$i" "$i" "${5:--}" "$s" "$z" "$4" "$i" "$i" "$i" "$i" "${5:--}" "$s" "$z" "$4" "$i" "$i" "$i" "$i" "$i" "$i" >>nodes
}
i=0
echo 'const roi = f32[8] [0, 0, 0.1, -0.3, 1, 1, 0.7, 1.2]' >consts
for where in half_pixel asymmetric align_corners pytorch_half_pixel half_pixel_symmetric; do
	resize 1,5,7,11 1,1,2,2 - "mode=\"linear\" coordinate_transformation_mode=\"$where\""
	resize 1,18,9,20 - 1,18,4,33 "mode=\"linear\" coordinate_transformation_mode=\"$where\""
	resize 2,3,8,19 - 2,3,20,40 "mode=\"cubic\" coordinate_transformation_mode=\"$where\" exclude_outside=1"
done
for round in round_prefer_floor round_prefer_ceil floor ceil; do
	resize 1,3,9,20 1,1,1.3,2 - "mode=\"nearest\" nearest_mode=\"$round\""
done
resize 1,3,40,50 - 1,3,9,12 'mode="linear" antialias=1'
resize 1,3,20,30 1,1,0.15,0.4 - 'mode="cubic" antialias=1'
resize 1,3,20,30 - 1,6,20,30 'mode="linear"'
resize 1,3,20,30 1,1,2,2 - 'mode="linear" coordinate_transformation_mode="tf_crop_and_resize" extrapolation_value=-7.' @roi
resize 1,3,20,30 - 1,3,40,50 'mode="nearest" coordinate_transformation_mode="tf_crop_and_resize" extrapolation_value=3.' @roi
{ printf 'hone-text 1\nmodule ir=8 opset=19\n' && cat consts && echo 'graph main {' && cat inputs nodes && echo '}'; } >many.txt
ge-load many.txt | ge-shape | ge-fuse | ge-layout | ge-plan --no-fallback -q -o many.g && ge-emit many.g -o many && equal --tol 2e-5 many.so many.g
ok $? "$i of them, in two layouts: the evaluator's numbers"
grep ': q' many.c | grep -q . && grep -q 'in order 0 2 1\|in order 1 2 0\|in order 1 0' many.c
ok $? "channels are innermost in some"
done_testing
