# the default schedule, by the numbers of the evaluator and by what was decided.
. "$top/tests/lib.sh"
numbers() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%g", i ? ", " : "", (i * 7919 % 1999 - 999) / 999 }'; }

# Traces are of one target, numbers of this machine's. Vectors along the innermost axis in memory would be gathered: patches, and few columns.
# Groups are split off where they are.
along() {
	printf 'hone-text 1\nmodule ir=8 opset=17\nconst w = f32[%s] [%s]\ngraph main {\n  input x: f32[%s]\n  y = %s(x, @w) {%s}\n  output y = y\n}\n' "$1" "$(numbers "$2")" "$3" "${5-Conv}" "$4" |
		ge-load | ge-shape | ge-fuse | ge-layout -o laid.g && ge-plan -q --target x86-64-v3 laid.g | ge-emit --target x86-64-v3 --print-traces - >traces &&
		ge-plan -q laid.g -o along.g && ge-emit along.g -o along && equal along.so along.g
}
along 32,3,4,4 1536 1,3,20,36 'strides=[4,4]' && grep -q '^along .* := o$' traces
ok $? "patches: vectors of channels, results turned"
along 48,16,3 2304 1,16,3 'pads=[1,1]' && grep -q '^along .* := o$' traces
ok $? "few columns: the same"
along 32,4,3,3 1152 1,32,9,48 'group=8 pads=[1,1,1,1]' && grep -q '^split conv.o 4$' traces
ok $? "groups: rows of a tile are the channels of one"
along 24,16,3,3 3456 1,16,12,11 'dilations=[8,8] pads=[8,8,8,8]' && grep -q '^algo taps$' traces
ok $? "taps that mostly read padding: a product each"
along 24,16,3,3 3456 2,16,30,31 'dilations=[1,2] pads=[1,2,0,3]' && ! grep -q '^algo taps$' traces
ok $? "few that do: one sum"
along 16,24,3,3 3456 1,16,9,10 'strides=[2,2] pads=[1,1,1,1]' ConvTranspose && grep -q '^partition conv.kh 1$' traces && grep -q '^partition conv.rh 1$' traces
ok $? "transposed, an odd window: each phase has its own taps"
along 24,16,3,3 3456 1,16,12,13 'strides=[2,2] pads=[1,1,1,1] dilations=[2,1]' && grep -q '^layout pad ' traces && grep -q '^x_across = cache x pad root' traces
ok $? "a padded copy lies as it is summed, its operand is turned"
done_testing
