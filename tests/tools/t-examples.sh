# Commands of README, of doc/'s guides and of the pages' EXAMPLES run as they are written, with PREFIX/bin on the path and small models
# under the names that the pages use.
. "$top/tests/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
here=$PWD
command -v parallel >/dev/null || skip_all "examples" "no parallel"
make -s -C "$top" install DESTDIR="$here/stage" PREFIX=/opt/hone >log 2>&1
prepared $? "make install"

# Another machine is this one, an editor changes nothing, and a training takes one second.
command_of() { { echo '#!/bin/sh'; cat; } >"commands/$1" && chmod +x "commands/$1"; }
mkdir commands
options='while [ "${1#-}" != "$1" ]; do case $1 in -[lopnc]) shift ;; esac; shift; done'
printf '%s\n' "$options" 'shift' '[ "$1" != -- ] || shift' 'exec sh -c "$*"' | command_of ssh
printf '%s\n' "$options" 'exec "$@"' | command_of srun
for name in scp vi; do true | command_of $name; done
echo 'echo 1' | command_of python3
PATH=$here/commands:$here/stage/opt/hone/bin:/usr/bin:/bin HOME=$here EDITOR=vi SHELL=/bin/sh HONE_BLOBS=$here/blobs
export PATH HOME EDITOR SHELL HONE_BLOBS
unset XDG_DATA_HOME

# Commands that are not run, and why: page, a part of the command, reason.
cat >unrun <<'END'
README.md|make demo|builds hone, as this test's caller did
README.md|make check|runs this test
README.md|llama.gguf|t-gguf.sh builds a language model
README.md|hone tune|slow.md has it
README.md|hone quantize|times for seconds: t-hone-quantize.sh
README.md|hone bench|slow.md has it
README.md|hone advise|slow.md has it
README.md|--target aarch64|wants a compiler for it: t-hone-bundle.sh
README.md|tune-grad advise|a timeline of torch_plan.py: t-torch.sh
ge-import.1|llama.gguf|t-gguf.sh builds a language model
ge-mixed.1|run-dev --probe|run-dev.1 has it
tune-model.1|tune-model learn|wants timings of six tasks made here: t-tune-model.sh
tune-model.1|rm ~/.local|what tune-model learn wrote
hone.1|hone tune|slow.md has it
hone.1|hone quantize|times for seconds: t-hone-quantize.sh
hone.1|hone advise|slow.md has it
slow.md|hone quantize|times for seconds: t-hone-quantize.sh
slow.md|model.onnx q.onnx|what hone quantize wrote
tune-graph.1|--cold-weights|a sweep as the next one's, with slower timings
tune-grad.1|torch_plan.py|wants PyTorch: t-torch.sh
tune-grad.1|tune-grad advise|a timeline of torch_plan.py: t-torch.sh
END
# Tunings take a second or a trial in place of minutes, of less; 1 of diff and ge-diff says that there is a difference.
shortened() {
	sed 's/--seconds [0-9]*/--seconds 1/; s/tune-op \(--task\|--trace\|-o\|model.g\)/tune-op --trials 1 \1/
		s/tune-graph --segment /tune-graph --seconds 1 --segment /; s/| diff .*/& || [ $? = 1 ]/; s/ge-diff [^;|]*/{ & || [ $? = 1 ]; }/
		s/128x768 768x768c/8x32 32x32c/; s/calibrate --hosts hosts/& --max 4096/; s/run-dev --bench/& --seconds 0.1/; s/parallel -a/parallel -j1 -a/'
}

# text_of PAGE: its commands.
text_of() {
	case $1 in
	*.md) sed -n 's/^    //p' "$1" ;;
	*) awk '/^\.Sh/ { example = $2 == "EXAMPLES" } !example { next } /^\.Ed/ { literal = 0 }
		literal || sub(/^\.Dl /, "") { print } /^\.Bd -literal/ { literal = 1 }' "$1" | sed 's/\\(dq/"/g; s/\\e/\\/g' ;;
	esac
}

# model NAME: NAME.g and NAME.onnx of the lines of a graph on standard input.
numbers() { awk -v n="$1" 'BEGIN { srand(n); for (i = 0; i < n; i++) printf "%s%.3f", i ? ", " : "", rand() - 0.5 }'; }
model() {
	{
		printf '%s\n' 'hone-text 1' 'module ir=8 opset=17' 'symbol batch 0 inf' 'symbol seq 0 inf' 'symbol h 0 inf' 'symbol w 0 inf' \
			"const wide = f32[64,4] [$(numbers 256)]" "const square = f32[4,4] [$(numbers 16)]" "const bias = f32[4] [$(numbers 4)]" \
			"const filter = f32[2,3,1,1] [$(numbers 6)]" 'const fast = i64[] [16000]' 'graph main {'
		cat
		echo '}'
	} | ge-load | ge-prune -o "$1.g" && ge-export "$1.g" -o "$1.onnx"
}
mkdir stock && cd stock || exit 1
{
	model model <<-'END'
		input input: f32[batch,64]
		wide = MatMul(input, @wide)
		features = Relu(wide)
		narrow = Gemm(features, @square, @bias)
		y = Softmax(narrow)
		output y = y
	END
	model decoder <<-'END'
		input input: f32[1,64]
		input past: f32[1,4]
		wide = MatMul(input, @wide)
		present = Add(wide, past)
		y = Softmax(present)
		output y = y
		output present = present
	END
	model bert <<-'END'
		input input: i64[batch,seq]
		numbers = Cast(input) {to=1}
		y = Softmax(numbers)
		output y = y
	END
	model det <<-'END'
		input image: f32[batch,3,h,w]
		filtered = Conv(image, @filter)
		y = Relu(filtered)
		output y = y
	END
	model silero <<-'END'
		input input: f32[batch,64]
		input sr: i64[]
		is_fast = Equal(sr, @fast)
		rate = Cast(is_fast) {to=1}
		y = Mul(input, rate)
		output y = y
	END
} >log 2>&1
prepared $? "models"
cd "$here" || exit 1

# samples FILE ROWS: images of digits as rows of 64 numbers.
samples() {
	printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($2, 64), }" >"$1"
	tail -c +129 "$top/examples/digits/images.npy" | head -c $(($2 * 256)) >>"$1"
}
cd stock || exit 1
{
	cp "$top/examples/digits/digits.onnx" . && cp "$top/examples/digits/images.npy" "$top/examples/digits/labels.npy" .
	for name in in old swin; do cp model.onnx $name.onnx || exit 1; done
	cp model.g old.g && cp silero.onnx vad.onnx
	ge-shape --set batch=1 old.g | ge-fold -o model.g && ge-shape det.g | ge-fold -o shaped.g && mv shaped.g det.g
	ge-dump old.g | sed 's/Relu/Tanh/' | ge-load -o new.g && ge-export new.g -o new.onnx
	samples x.npy 1 && mkdir images "$here/models" && samples images/some.npy 8 && cp model.g "$here/models"
	hone build -q model.onnx -o build/model --set batch=1 && run-dev build/model.so -i input=x.npy -o y.npz && cp y.npz z.npz
	ge-fuse model.g | ge-layout -o laid.g && ge-plan laid.g -o planned.g && tune-op -q --trials 8 laid.g -o tuned.g && kb dump >records && cp "$HOME/.local/share/hone/kb" box.kb
	ge-calibrate -q model.g images -o all.stats && ge-quantize -q -s all.stats model.g | ge-export -o net.onnx
	printf '127.0.0.1\n127.0.0.1\n' >hosts
	printf '#!/bin/sh\necho 0.9\n' >accuracy && chmod +x accuracy
} >log 2>&1
prepared $? "what the pages name"
cd "$here" || exit 1

# run_page PAGE: runs its commands in a folder of its own.
run_page() {
	local page=$1 name=${1##*/}
	cp -r stock "$name.d" && cd "$name.d" || exit 1
	text_of "$page" | shortened | page=$name awk 'BEGIN {
		while ((getline line < "../unrun") > 0) { split(line, part, "|"); if (part[1] == ENVIRON["page"]) left[part[2]] }
	} { for (some in left) if (index($0, some)) next; print }' >commands.sh
	timeout 300 bash -eo pipefail -c 'trap "echo \"\$BASH_COMMAND: \$?\" >&2" ERR; trap "times >took" EXIT; . ./commands.sh' >out 2>err </dev/null
	status=$?
	lacks=$(sed -n 's/^.*: line [0-9]*: \([^ ]*\): command not found$/\1/p' err) # another project's, hone's own are all there
	if [ $status = 127 ] && [ -n "$lacks" ] && [ ! -e "$top/tools/$lacks" ]; then
		skip "$name" "no $lacks"
		cd "$here" && return
	fi
	is "$status, $(($(grep -c . commands.sh) > 0))" "0, 1" "$name: $(grep -c . commands.sh) lines of commands, $(awk -F "[ms ]+" "NR == 2 { printf \"%.1f\", \$2 + \$4 }" took) s of processor time" || tail -n 5 err | marked "# "
	cd "$here" || exit 1
}
for page in ${PAGES:-$top/README.md $top/doc/slow.md $top/doc/cluster.md $top/doc/hone.7 $top/tools/*/*.1}; do
	[ ! -x "$top/bin/$(basename "$page" .1)" ] && [ "${page%.1}" != "$page" ] || run_page "$page"
done
nothing "every line of the list of commands that are not run is of use" "$(while IFS='|' read -r page part why; do
	text_of "$(ls "$top/$page" "$top/doc/$page" "$top/tools/${page%.1}/$page" 2>/dev/null)" | grep -qF -e "$part" || echo "$page: $part"
done <unrun)"
done_testing
