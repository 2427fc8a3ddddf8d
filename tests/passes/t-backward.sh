# ge-grad: weights become inputs, the loss and its derivatives outputs; what is frozen stays; what cannot be done is refused by name.
. "$top/tests/lib.sh"
cat >mlp.txt <<'X'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
const first.w = f32[2,3] [1, -1, 0.5, 0.25, 2, -0.5]
const first.b = f32[3] [0.1, 0.2, -0.3]
const last.w = f32[3,2] [1, 0.5, -0.5, 0.25, 2, -1]
const half = f32[] [0.5]
graph main {
  input x: f32[n,2]
  a = MatMul(x, @first.w)
  b = Add(a, @first.b)
  c = Relu(b)
  d = Mul(c, @half)
  e = MatMul(d, @last.w)
  output y = e
  output hidden = c
}
X
ge-load mlp.txt -o mlp.g
list() { ge-stat "$1" | sed -n '/^inputs/,/^$/p' | sed 's/^[a-z]* *//; s/ .*//' | tr '\n' ' '; }
ge-grad --loss ce --output y --why mlp.g -o ce.g 2>why
is "$(list ce.g)" "x labels first.w first.b last.w y loss first.w.grad first.b.grad last.w.grad n  " "inputs and outputs; a single number is no weight"
is "$(ge-check ce.g 2>&1; grep -c ' is trained$' why)" 3 "the graph is a good one"
ge-grad --loss mse --output y --freeze 'first.*' mlp.g | ge-prune -o frozen.g
is "$(list frozen.g) $(ge-stat frozen.g | grep -c Relu)$(ge-dump frozen.g | grep -c 'Where\|Greater')" "x labels last.w y loss last.w.grad n   10" \
	"nothing is computed for what is frozen"

refused() { # CODE TEXT WHAT ARGUMENT...
	code=$1 text=$2 what=$3 && shift 3
	"$@" >/dev/null 2>err
	is "$? $(grep -cF -e "$text" err) $(grep -c . err)" "$code 1 1" "$what"
}
refused 64 "--freeze 'none.*' meets no weight" "a pattern that meets nothing" ge-grad --loss ce --output y --freeze 'none.*' mlp.g
refused 64 "all 3 weights are frozen" "a pattern that meets all" ge-grad --loss ce --output y --freeze '*' mlp.g
refused 64 "no output or value 'z'" "an output that is not there" ge-grad --loss ce --output z mlp.g
refused 64 "it has 2 outputs" "which output" ge-grad --loss ce mlp.g
refused 64 "there are ce, mse, bce, l1" "a loss that is not there" ge-grad --loss best mlp.g
refused 65 "an input is called 'labels' already" "twice" ge-grad --loss ce --output y ce.g
ge-prune --output x mlp.g -o x.g
refused 65 "no weight reaches 'x'" "no weight" ge-grad --loss mse x.g
sed 's/c = Relu(b)/c = Hardmax(b)/; s/first.w = f32\[2,3\]/w = f32[2,3]/; s/@first.w/@w/' mlp.txt | ge-load -o flat.g
ge-grad --loss mse --output hidden flat.g >/dev/null 2>err
is "$? $(cat err)" "65 ge-grad: flat.g: no weight reaches the loss" "what is constant between jumps alone is between"
sed 's/c = Relu(b)/c = LRN(b) {size=1}/; s/input x: f32.n,2./input x: f32[1,1,n,2]/' mlp.txt | ge-load | ge-shape -o lrn.g
refused 69 "(LRN): no derivative of this" "an operator without a derivative" ge-grad --loss mse --output y lrn.g
refused 65 "it is no tensor of floats" "integers" sh -c 'sed "s/output y = e/f = Cast(e) {to=7}; output y = f/" mlp.txt | tr ";" "\n" | ge-load | ge-grad --loss ce --output y'
done_testing
