# Models of Keras and TensorFlow, by one command and from Python, against Keras' own numbers; what is refused.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
export HONE="$top/bin/hone" PYTHONPATH="$top/clients/python" PYTHONDONTWRITEBYTECODE=1
mkdir saved
: >saved/saved_model.pb
hone build saved 2>err
[ $? -eq 66 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'python3 -m hone.keras' err
ok $? "hone build of a SavedModel says what to type"
python3 -m hone.keras no.keras >log 2>err
is "$? $(cat err)" "66 hone.keras: no.keras: No such file or directory" "a file that is missing"

python=$(python_with 'tensorflow, tf2onnx, onnx, numpy') || { skip "Keras" "no python with tensorflow and tf2onnx: HONE_PYTHON"; done_testing; exit; }
cat >make.py <<'END'
import keras, numpy as np
from keras import layers as of
keras.utils.set_random_seed(0)
image, row = keras.Input((12, 12, 3), name="image"), keras.Input((5,), name="row")
x = of.BatchNormalization()(of.Conv2D(8, 3, activation="relu", padding="same")(image))
x = of.GlobalAveragePooling2D()(of.DepthwiseConv2D(3)(of.MaxPooling2D()(x)))
net = keras.Model([image, row], of.Dense(4, activation="softmax")(of.Concatenate()([x, of.Dense(6, activation="gelu")(row)])))
for w in net.weights:
    w.assign(np.random.rand(*w.shape) * 0.5 + 0.1)  # statistics as after a training
net.save("net.keras")
net.export("folder", verbose=False)
given = [(np.random.rand(n, 12, 12, 3).astype("f"), np.random.rand(n, 5).astype("f")) for n in (1, 3)]
np.savez("given.npz", **{f"{k}{i}": x for i, pair in enumerate(given) for k, x in zip("xrw", [*pair, net.predict(list(pair), verbose=0)])})
END
cat >compare.py <<'END'
import sys, numpy as np, hone
z, net = np.load("given.npz"), hone.load(sys.argv[1])
print(net, [np.allclose(net.run({"image": z[f"x{i}"], "row": z[f"r{i}"]}).popitem()[1], z[f"w{i}"], atol=1e-6) for i in range(int(sys.argv[2]), 2)])
END
TF_CPP_MIN_LOG_LEVEL=3 "$python" make.py >log 2>&1
ok $? "Keras makes models"
"$python" -m hone.keras net.keras --quiet -o out/net 2>err && [ ! -s err ]
ok $? ".keras, by one command"
is "$("$python" compare.py out/net.so 0)" "<hone.Model net: image f32[batch,12,12,3], row f32[batch,5] -> output_0 f32[batch,4]> [True, True]" "its numbers are those of Keras"
"$python" -m hone.keras folder --quiet --set batch=3 --onnx kept.onnx 2>err && [ ! -s err ] && [ -s kept.onnx ]
ok $? "a SavedModel, of one size"
is "$("$python" compare.py folder.so 1)" "<hone.Model folder: image f32[3,12,12,3], row f32[3,5] -> output_0 f32[3,4]> [True]" "its numbers, too"
echo no >bad.keras
"$python" -m hone.keras bad.keras >log 2>err
is "$? $(wc -l <err) $(cut -d: -f1-3 err)" "65 1 hone.keras: bad.keras: Keras" "a file that is no model"
done_testing
