# hone train: the weights that numpy has in double, after the same steps; stopped and gone on with, the same bytes; bad input is named.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import numpy, onnx' 2>/dev/null || skip_all "a training" "no python with numpy and onnx (HONE_PYTHON)"
"$python" "$top/tests/tools/train.py" make || ok 1 "a model"
tune() { hone train -q mlp.onnx --loss ce --batch 8 --epochs 3 --seed 5 --lr 0.01 --decay 0.1 "$@"; }
tune --data x.npy --labels y.npy -o tuned.onnx >out 2>err
is "$? $("$python" "$top/tests/tools/train.py" check tuned.onnx)" "0 close else the same" "weights after three epochs, and nothing else"
hone train mlp.onnx --loss ce --batch 8 --epochs 2 --validate 0.3 --freeze '[wb]1' --data x.npy --labels y.npy -o frozen.onnx >out 2>err
is "$? $(cat out) $(grep -c '^run-dev: epoch [12] of 2: loss .* right; held out: loss .* right$' err)" \
	"0 frozen.onnx: 2 weights of mlp.onnx, trained; the best of what was held out 2" "frozen layers and a part that is held out"

# The step by itself, in one place and stopped after one epoch of three.
ge-import mlp.onnx | ge-shape --set n=8 | ge-grad --loss ce | ge-optim --optimizer lamb --clip-norm 0.5 --schedule cosine --steps 18 --warmup 2 -o step.g
hone build -q step.g -o step
train() { run-dev -q --train x.npy --labels y.npy --loss ce --seed 5 step.so "$@"; }
train --epochs 3 -o whole.npz && train --epochs 1 --checkpoint part -o part.npz && train --epochs 3 --checkpoint part -o rest.npz && same whole.npz rest.npz
ok $? "gone on with from a checkpoint: the same bytes"
run() { what=$1 code=$2 text=$3; shift 3; refused "$code" "$text" "$what" "$@"; }
run "another seed" 65 "part: a checkpoint of another training" train --seed 6 --checkpoint part
head -c 300 part >cut
run "a checkpoint cut short" 65 "cut" train --checkpoint cut
run "a label out of range" 65 "far.npy: sample 7: its label is 3, and classes are from 0 to 2" run-dev -q --train x.npy --labels far.npy --loss ce step.so
run "another number of labels" 65 "few.npy: 51 labels for the 52 samples of x.npy" run-dev -q --train x.npy --labels few.npy --loss ce step.so
run "NaN" 65 "nan.npy: sample 9: a number is NaN" run-dev -q --train nan.npy --labels y.npy --loss ce step.so
run "too few samples" 65 "x.npy: 52 samples to train with, fewer than a batch of 64" tune --data x.npy --labels y.npy --batch 64 -o no.onnx
run "no labels" 64 "train: --labels is missing" hone train mlp.onnx --data x.npy --loss ce -o no.onnx
run "a pattern that meets nothing" 64 "--freeze 'none' meets no weight" tune --data x.npy --labels y.npy --freeze none -o no.onnx
is "$(ls no.onnx 2>&1 | grep -c 'No such')" 1 "no file is left"
done_testing
