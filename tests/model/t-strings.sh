# Strings, sequences and optionals in libraries: from the tools and from C. What is no such value is refused by name.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || skip_all "strings, sequences and optionals" "no python with numpy (HONE_PYTHON)"

cat >words.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
const dash = str[] ["-"]
const fixed = str[2] ["a", "b"]
const one = i64[] [1]
graph main {
  input w: str[n]
  input s: ?[*]%"seq(tensor(float))"
  input o: ?[*]%"optional(tensor(float))"
  input p: str[2]
  d = StringConcat(w, @dash) "join"
  parts, counts = StringSplit(d) {delimiter="e"} "split"
  e = Equal(p, @fixed) "same"
  c = Cast(e) {to=1} "number"
  t = SequenceInsert(s, c) "insert"
  at = SequenceAt(t, @one) "at"
  r = Relu(at) "relu"
  l = SequenceLength(t) "length"
  has = OptionalHasElement(o) "has"
  match = RegexFullMatch(w) {pattern="t.*"} "match"
  q = Optional(r) "wrap"
  output parts = parts
  output counts = counts
  output t = t
  output l = l
  output has = has
  output q = q
  output o = o
  output fixed = @fixed
  output match = match
}
END
"$python" - <<'END'
import numpy as np
f = np.float32
np.savez("in.npz", **{"w": np.array(["tee", "", "kaffee"]), "s[0]": f([[1, -2]]), "s[1]": f([[-3], [4]]), "o": f([5]), "p": np.array(["a", "x"])})
np.savez("none.npz", **{"w": np.array([], "U1"), "s[]": np.zeros(0, f), "o?": np.zeros(0, f), "p": np.array(["a", "b"])})
np.savez("short.npz", **{"w": np.array(["tee"]), "s[]": np.zeros(0, f), "o?": np.zeros(0, f), "p": np.array(["a", "b"])})
END
ge-load words.txt | ge-shape -o words.g && hone build -q -o words words.g 2>err && [ -s words.so ]
ok $? "strings, sequences and optionals are compiled" || cat err
run-dev words.so -i in.npz -o d.npz && run-ref words.g -i in.npz -o r.npz && equal --tol 0 d.npz r.npz
ok $? "the evaluator's values"
"$python" - <<'END'
import numpy as np
y = np.load("d.npz")
assert y["parts"].tolist() == [["t", "", "-"], ["-", "", ""], ["kaff", "", "-"]] and y["counts"].tolist() == [3, 1, 3], y["parts"]
assert [y["t[%d]" % i].tolist() for i in range(3)] == [[[1, -2]], [[-3], [4]], [1, 0]] and y["l"] == 3 and y["has"]
assert y["q"].tolist() == [[0], [4]] and y["o"].tolist() == [5] and y["fixed"].tolist() == ["a", "b"] and y["match"].tolist() == [True, False, False]
END
ok $? "and what they must be"
run-dev words.so -i none.npz -o d.npz 2>err
[ $? -eq 65 ] && grep -q "step at" err
ok $? "a position that a sequence does not have: 65" || cat err
ge-fuse words.g | ge-layout | ge-plan -q --no-fallback -o x.g 2>err
[ $? -eq 69 ] && grep -q 'have no kernel' err
ok $? "without the slow path it is refused" || cat err

# run-cmp takes values that are no tensors apart on both sides: maps with keys of words, sequences.
cat >maps.txt <<'END'
hone-text 1
module ir=8 opset=28
const one = i64[] [1]
graph main {
  input x: f32[2,3]
  z = hone.ZipMap(x) {classlabels_strings=["a", "b", "c"]}
  s = SplitToSequence(x, @one) {axis=0}
  output z = z
  output s = s
}
END
ge-load maps.txt | ge-shape -o maps.g && hone build -q -o maps maps.g && run-cmp maps.so maps.g >out &&
	[ "$(grep -c 'z\[[01]\]{\(keys\|values\)}.*equal$' out) $(grep -c 's\[[01]\].*equal$' out)" = '4 2' ]
ok $? "run-cmp compares maps and sequences" || cat out
sed 's/"b", "c"/"d", "c"/' maps.txt | ge-load -o other.g && run-cmp maps.so other.g >out
is "$? $(grep -c 'keys}.*DIFFERENT' out)" "1 2" "and finds keys that differ"

cat >main.c <<'END'
#include <stdio.h>
#include <string.h>
#include "words.h"
static float one[] = {1, -2}, two[] = {-3, 4}, five[] = {5};
static struct hone_text w[] = {{"tee", 3}, {NULL, 0}, {"k\0ffee", 6}}, p[] = {{"a", 1}, {"x", 1}};
static struct hone_value s[] = {{1, 2, (const int64_t[]){1, 2}, one}, {1, 2, (const int64_t[]){2, 1}, two}}, o[] = {{1, 1, (const int64_t[]){1}, five}};
static struct hone_value in[4];
static struct hone_value out[9];
static const int64_t n1[] = {1}, n2[] = {2}, n3[] = {3};
static void good(void)
{
	in[0] = (struct hone_value){8, 1, n3, w};
	in[1] = (struct hone_value){HONE_SEQUENCE, 1, n2, s};
	in[2] = (struct hone_value){HONE_OPTIONAL, 1, n1, o};
	in[3] = (struct hone_value){8, 1, n2, p};
}
static int refused(words *m, const char *say)
{
	int failed = words_run_values(m, in, out) == -1 && strstr(words_error(), say);
	if (!failed)
		printf("%s, not %s\n", words_error(), say);
	good();
	return !failed;
}
int main(void)
{
	words *m = words_open("words.weights", NULL);
	if (!m)
		return 1;
	for (int again = 0; again < 3; again++) {
		good();
		if (words_run_values(m, in, out))
			return puts(words_error()), 2;
		const struct hone_text *t = out[0].data, *fixed = out[7].data;
		const struct hone_value *v = out[2].data, *q = out[5].data;
		if (out[0].type != 8 || out[0].rank != 2 || out[0].shape[0] != 3 || out[0].shape[1] != 3 || t[6].n != 4 || memcmp(t[6].s, "k\0ff", 4) || t[3].n != 1)
			return 3;
		if (out[2].type != HONE_SEQUENCE || out[2].rank != 1 || out[2].shape[0] != 3 || v[1].rank != 2 || v[1].shape[0] != 2 || ((float *)v[1].data)[1] != 4)
			return 4;
		if (out[5].type != HONE_OPTIONAL || out[5].shape[0] != 1 || q->rank != 2 || ((float *)q->data)[1] != 4 || ((const float *)((const struct hone_value *)out[6].data)->data)[0] != 5 || fixed[1].n != 1)
			return 5;
	}
	in[0].type = 7;
	if (refused(m, "input w: its type is number 7, not str"))
		return 6;
	in[1].type = 1;
	if (refused(m, "input s: its type is number 1, not seq(tensor(float))"))
		return 7;
	in[3].shape = (const int64_t[]){3};
	if (refused(m, "input p: axis 0 is of size 3, not 2"))
		return 8;
	w[0].s = NULL;
	if (refused(m, "a string is NULL"))
		return 9;
	w[0].s = "tee";
	s[1].type = 7;
	if (refused(m, "it is of another type"))
		return 10;
	s[1].type = 1;
	s[1].shape = (const int64_t[]){-1, 2};
	if (refused(m, "its shape is of no tensor"))
		return 11;
	s[1].shape = (const int64_t[]){2, 1};
	in[2].shape = (const int64_t[]){2};
	if (refused(m, "another number of values than it can"))
		return 12;
	s[1].data = NULL;
	if (refused(m, "its elements are NULL"))
		return 13;
	words_close(m);
	return 0;
}
END
${CC:-gcc} -g -Wall -Werror main.c ./words.so -o main -lm -pthread 2>err
LD_LIBRARY_PATH=. ./main >said
is "$? $(cat said)" "0 " "from C: given, got, refused by name" || cat err

cat >branch.txt <<'END'
hone-text 1
module ir=10 opset=28
graph yes {
  input x: f32[2]
  a = SequenceConstruct(x, x)
  output a = a
}
graph no {
  input x: f32[2]
  b = SequenceConstruct(x)
  output b = b
}
graph main {
  input c: bool[]
  input x: f32[2]
  y = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}
  output y = y
}
END
ge-load branch.txt | ge-shape -o branch.g && hone build -q -o branch branch.g 2>err
for c in True False; do
	"$python" -c 'import numpy as n, sys; n.savez("c.npz", c=n.array(sys.argv[1] == "True"), x=n.float32([1, 2]))' $c
	run-dev branch.so -i c.npz -o d.npz && run-ref branch.g -i c.npz -o r.npz && equal --tol 0 d.npz r.npz
	ok $? "a branch that gives a sequence, $c" || cat err
done
# Hashes of strings and numbers: tests/onnx/contrib_forms.py compares their values with ONNX Runtime's, for each type.
cat >hash.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
graph main {
  input w: str[n]
  input k: i64[n]
  input r: f32[n]
  ws: u32[n] = hone.MurmurHash3(w) {seed=7}
  wi: i32[n] = hone.MurmurHash3(w) {positive=0}
  ks: u32[n] = hone.MurmurHash3(k) {seed=-1}
  rs: u32[n] = hone.MurmurHash3(r)
  output ws = ws
  output wi = wi
  output ks = ks
  output rs = rs
}
END
"$python" - <<'END'
import numpy as np
np.savez("h.npz", w=np.array(["", "abc", "h\u00e4\u00df", "x" * 77]), k=np.array([0, -1, 2**40, 5]), r=np.float32([0, -0.0, np.nan, 2.5]))
np.savez("h0.npz", w=np.array([], "U1"), k=np.array([], int), r=np.array([], np.float32))
END
ge-load hash.txt | ge-shape -o hash.g && hone build -q --no-fallback -o hash hash.g 2>err
ok $? "hashes are native steps" || cat err
for in in h h0; do
	run-dev hash.so -i $in.npz -o d.npz && run-ref hash.g -i $in.npz -o r.npz && equal --tol 0 d.npz r.npz
	ok $? "hashes: the evaluator's values, $in"
done
hash_refused() { # WHY: what reading bad.txt says in one line
	ge-load -o bad.g bad.txt 2>err
	[ $? = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -qF "(MurmurHash3): $1" err
	ok $? "a hash is refused: $1" || cat err
}
sed 's/seed=7/seed=4294967296/' hash.txt >bad.txt
hash_refused "attribute 'seed' is 4294967296, takes"
sed 's/seed=-1/seed=-2147483649/' hash.txt >bad.txt
hash_refused "attribute 'seed' is -2147483649, takes"
sed 's/positive=0/positive=2/' hash.txt >bad.txt
hash_refused "attribute 'positive' is 2, takes"
sed 's/r: f32/r: f16/' hash.txt >bad.txt
hash_refused "operand 0 is f16, takes"
# Regular expressions: an automaton in the library, the evaluator follows the program; patterns with too many states stay on the slow path.
cat >match.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
graph main {
  input w: str[n]
  mail = RegexFullMatch(w) {pattern="[\\w.]+@\\w+(\\.[a-z]{2,})+"}
  cased = RegexFullMatch(w) {pattern="(?i)ä[b-d]*"}
  edge = RegexFullMatch(w) {pattern=".*\\bcat\\b.*"}
  lines = RegexFullMatch(w) {pattern="(?ms)^a$.^b$"}
  any = RegexFullMatch(w) {pattern="(?s).*"}
  none = RegexFullMatch(w) {pattern=""}
  output mail = mail
  output cased = cased
  output edge = edge
  output lines = lines
  output any = any
  output none = none
}
END
"$python" - <<'END'
import numpy as np
np.savez("w.npz", w=np.array(["", "a.b@c.org", "a@c.o", "\u00e4bc", "\u00c4DB", "a cat!", "concat", "cat", "a\nb", "a\n\nb", "\u00e4", "x\U0001f600"]))
np.savez("w0.npz", w=np.array([], "U1"))
END
ge-load match.txt | ge-shape -o match.g && hone build -q --no-fallback -o match match.g 2>err
ok $? "regular expressions are native steps" || cat err
for in in w w0; do
	run-dev match.so -i $in.npz -o d.npz && run-ref match.g -i $in.npz -o r.npz && equal --tol 0 d.npz r.npz
	ok $? "expressions: the evaluator's values, $in"
done
run-dev match.so -i w.npz -o d.npz && "$python" - <<'END'
import numpy as np
y = {k: np.nonzero(v)[0].tolist() for k, v in np.load("d.npz").items()}
assert y == {"mail": [1], "cased": [3, 4, 10], "edge": [5, 7], "lines": [8], "any": list(range(12)), "none": [0]}, y
END
ok $? "expressions: and what they must be"
sed '/output [a-m]/d; s/pattern=""/pattern="(a|b)*a(a|b){12}"/' match.txt | ge-load | ge-shape -o many.g && hone build -o many many.g >out 2>&1 &&
	grep -q 'on the slow path: .*RegexFullMatch' out
ok $? "an expression of too many states is on the slow path" || cat out
done_testing
