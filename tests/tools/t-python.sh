# The Python package: libraries on numpy arrays, hone's verbs, what it refuses; the wheel.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with numpy) || skip_all "no python with numpy: make peers, or HONE_PYTHON"
export HONE="$top/bin/hone" PYTHONPATH="$top/clients/python" PYTHONDONTWRITEBYTECODE=1
printf '%s\n' 'hone-text 1' 'module ir=8 opset=17' 'symbol n 0 inf' 'const w = f32[3,2] [1, 2, 3, 4, 5, 6]' 'graph main {' '  input x: f32[n,3]' '  input k: i64[n]' \
	'  y = MatMul(x, @w)' '  j = Neg(k)' '  output y = y' '  output j = j' '}' | ge-load | ge-export -o net.onnx
cat >use.py <<'END'
import numpy as np, hone
w = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
def ask(what, f, *a, **k):
    try:
        print(what, f(*a, **k))
    except Exception as e:
        print(what, type(e).__name__, str(e).splitlines()[0])
for sizes in {"n": 4}, {}:
    net = hone.build("net.onnx", f"out/net{len(sizes)}", set=sizes or None)
    x, k = np.random.rand(4, 3).astype("f"), np.arange(4)
    y, j = net(x, k)
    by_name = net.run({"k": k, "x": np.asfortranarray(x)})
    print(net, np.allclose(y, x @ w), (j == -k).all(), np.array_equal(by_name["y"], y), net.inputs[0].dtype)
    x.flags.writeable = False
    print("its own memory:", np.array_equal(net(x, k)[0], y), np.allclose(net(np.flip(x), k)[0], np.flip(x) @ w), np.allclose(y, x @ w))
    ask("dtype", net, x.astype("d"), k)
    ask("shape", net, x, k[:3])
    ask("missing", net, x)
    ask("name", net, x, k=k, z=x)
net = hone.load("out/net0.so")
print([net(np.ones((n, 3), "f"), np.arange(n))[0].shape for n in (0, 1, 5)])
net.close()
ask("closed", net, x, k)
ask("nowhere", hone.load, "nowhere.so")
ask("bad", hone.load, __file__)
ask("verb", hone.build, "nowhere.onnx", "out/no")
ask("code", lambda: hone.simplify("net.onnx", "out/small.onnx").count("same") > 0)
END
"$python" use.py >said 2>err && [ ! -s err ]
ok $? "the package runs"
is "$(replaced "$PWD/" "" <said)" "$(cat <<'END'
<hone.Model net1: x f32[4,3], k i64[4] -> y f32[4,2], j i64[4]> True True True float32
its own memory: True True True
dtype TypeError input x: float64, not float32
shape ValueError input k: shape [3], not that of k i64[4]
missing TypeError inputs that are missing: k
name TypeError input z: there is none; they are x, k
<hone.Model net0: x f32[n,3], k i64[n] -> y f32[n,2], j i64[n]> True True True float32
its own memory: True True True
dtype TypeError input x: float64, not float32
shape ValueError input k: shape [3], not that of k i64[n], n = 4
missing TypeError inputs that are missing: k
name TypeError input z: there is none; they are x, k
[(0, 2), (1, 2), (5, 2)]
closed RuntimeError out/net0.so: closed
nowhere FileNotFoundError nowhere.so
bad ValueError use.py: not a library made by hone (use.py: invalid ELF header)
verb HoneError ge-import: nowhere.onnx: No such file or directory
code True
END
)" "numbers, and what is refused"

# the wheel, of a small tree: the same bytes twice, and pip's own reader finds what it records
mkdir -p tree/bin && printf '#!/bin/sh\necho hone 1.2.3\n' >tree/bin/hone && chmod 755 tree/bin/hone
wheel() { "$python" "$top/clients/python/wheel.py" tree -o "$1"; }
is "$(wheel a && wheel b && cmp a/*.whl b/*.whl && echo same)" "$(ls a/*.whl)
$(ls b/*.whl)
same" "the same wheel twice"
is "$("$python" - a/*.whl <<'END'
import base64, csv, hashlib, io, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
rows = list(csv.reader(io.StringIO(z.read("hone-1.2.3.dist-info/RECORD").decode())))
ok = all(h == "" or h == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(z.read(n)).digest()).rstrip(b"=").decode() for n, h, _ in rows)
print(ok, sorted(n for n, _, _ in rows) == sorted(z.namelist()), oct(z.getinfo("hone/tree/bin/hone").external_attr >> 16))
END
)" "True True 0o100755" "what it records is in it"

# torch.compile, where there is a torch that has it
torch=$(python_with 'torch, torch._dynamo, onnx, onnxscript, numpy') || { skip "torch.compile" "no python with torch 2, onnx and onnxscript: HONE_PYTHON"; done_testing; exit; }
cat >torch_use.py <<'END'
import os, warnings, torch
from hone.dynamo import backend
said = []
warnings.showwarning = lambda m, *a, **k: said.append(str(m)) if str(m).startswith("hone:") else None
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 4)).eval()
fast = torch.compile(net, backend=backend)
with torch.no_grad():
    first = fast(x := torch.randn(2, 3, 8, 8))
    fast(-x)  # which leaves the first result as it is
    print([torch.allclose(first, net(x), atol=1e-5)] + [torch.allclose(fast(x), net(x), atol=1e-5) for x in (torch.randn(n, 3, 8, 8) for n in (3, 5, 7))], said)
    print("libraries for four batches:", len(os.listdir(os.environ["XDG_CACHE_HOME"] + "/hone/torch")))
    net[4].bias.add_(1)
    print("weights that change:", torch.allclose(fast(x := torch.randn(5, 3, 8, 8)), net(x), atol=1e-5))
loss = fast(torch.randn(5, 3, 8, 8)).sum()
loss.backward()
print("gradients:", net[0].weight.grad is not None)
odd = torch.compile(lambda x: torch.linalg.eigvals(x).real.sort()[0], backend=backend)
print("refused:", torch.allclose(odd(torch.eye(3)), torch.ones(3)), len(said) > 0)
END
is "$(XDG_CACHE_HOME=$PWD/cache "$torch" torch_use.py 2>err)" "[True, True, True, True] []
libraries for four batches: 2
weights that change: True
gradients: True
refused: True True" "torch.compile"
done_testing
