#!/bin/bash
# Values of every kind on the evaluator: sequences and optionals, their shapes and what they hold; strings that are moved and compared.
. "$top/tests/lib.sh"

cat >seq.txt <<'END'
hone-text 1
module ir=10 opset=28
const at = i64[] [1]
const last = i64[] [-1]
graph main {
  input x: f32[4,3]
  s = SplitToSequence(x, @at) {axis=0}
  e = SequenceAt(s, @last)
  i = SequenceInsert(s, e)
  r = SequenceErase(i, @at)
  n = SequenceLength(r)
  c = ConcatFromSequence(r) {axis=0}
  t = ConcatFromSequence(r) {axis=1 new_axis=1}
  o = Optional(r)
  g = OptionalGetElement(o)
  h = OptionalHasElement(o)
  p = SequenceAt(g, @at)
  b = SequenceConstruct(x, e)
  j = ConcatFromSequence(b) {axis=0}
  output e = e
  output n = n
  output c = c
  output t = t
  output h = h
  output p = p
  output j = j
}
END
ge-load seq.txt -o seq.g
is "$(ge-shape seq.g | ge-dump | sed -n 's/^  \([a-z]\): \([^ ]*\) = .*/\1 \2/p' | tr '\n' ' ')" \
	's ?[1,3]%"seq(tensor(float))" e f32[1,3] i ?[1,3]%"seq(tensor(float))" r ?[1,3]%"seq(tensor(float))" n i64[] c f32[4,3] t f32[1,4,3] o ?[1,3]%"optional(seq(tensor(float)))" g ?[1,3]%"seq(tensor(float))" h bool[] p f32[1,3] b ?[?,3]%"seq(tensor(float))" j f32[_1,3] ' \
	"shapes of sequences and optionals"
is "$(ge-fold seq.g | ge-dump | grep -c '^const [nh] = ')" 2 "the length of a sequence and that an optional has a value are known"
cat >same.txt <<'END'
hone-text 1
module ir=10 opset=28
graph main {
  input x: f32[4,3]
  s = SplitToSequence(x) {axis=1 keepdims=0}
  y = ConcatFromSequence(s) {axis=1 new_axis=1}
  output y = y
}
END
ge-load same.txt -o same.g
cat >id.txt <<'END'
hone-text 1
module ir=10 opset=28
graph main {
  input x: f32[4,3]
  y = Identity(x)
  output y = y
}
END
ge-load id.txt -o id.g
run-ref seq.g -o seq.npz && run-ref same.g -o same.npz && run-ref id.g -o id.npz && [ -s id.npz ]
ok $? "sequences run"
cmp same.npz id.npz
ok $? "split to a sequence and put together again"

cat >str.txt <<'END'
hone-text 1
module ir=10 opset=28
const s = str[3] ["b", "", "a"]
const i = i64[2] [2, 0]
const p = i64[2] [1, 1]
graph main {
  g = Gather(@s, @i)
  q = SplitToSequence(@s)
  c = ConcatFromSequence(q) {axis=0}
  e = Equal(@s, c)
  d = Pad(g, @p)
  k = StringConcat(@s, @s)
  output k = k
  output g = g
  output c = c
  output e = e
  output d = d
}
END
ge-load str.txt -o str.g
is "$(ge-fold str.g | ge-dump | sed -n 's/^const \([kgced]\) = //p' | tr '\n' ' ')" \
	'str[3] ["bb", "", "aa"] str[2] ["a", "b"] str[3] ["b", "", "a"] bool[3] [1, 1, 1] str[4] ["", "a", "b", ""] ' "strings are gathered, split, compared, padded"

cat >split.txt <<'END'
hone-text 1
meta "opset:ai.onnx" = "22"
const s = str[2,2] ["hello world", "def.net", " o n  n x", ""]
const t = str[2] ["o-n--x-", ""]
graph main {
  a, b = StringSplit(@s) {maxsplit=2}
  c, d = StringSplit(@t) {delimiter="-"}
  e, f = StringSplit(@t) {delimiter="n--"}
  output a = a
  output b = b
  output c = c
  output d = d
  output e = e
  output f = f
}
END
ge-load split.txt -o split.g
is "$(ge-fold split.g | ge-dump | sed -n 's/^const \([a-f]\) = //p' | tr '\n' ' ')" \
	'str[2,2,3] ["hello", "world", "", "def.net", "", "", "o", "n", "n x", "", "", ""] i64[2,2] [2, 1, 3, 0] str[2,5] ["o", "n", "", "x", "", "", "", "", "", ""] i64[2] [5, 1] str[2,2] ["o-", "x-", "", ""] i64[2] [2, 1] ' "strings are split"

cat >case.txt <<'END'
hone-text 1
meta "opset:ai.onnx" = "22"
const s = str[1,3] ["Montag", "Ähre Σ", "x"]
const t = str[2] ["a", "a"]
graph main {
  a = StringNormalizer(@s) {case_change_action="LOWER" stopwords=["MONTAG"]}
  b = StringNormalizer(@s) {case_change_action="UPPER" is_case_sensitive=1 stopwords=["MONTAG"]}
  c = StringNormalizer(@t) {stopwords=["A"]}
  output a = a
  output b = b
  output c = c
}
END
ge-load case.txt -o case.g
is "$(LC_ALL=C ge-fold case.g | ge-dump | sed -n 's/^const \([a-f]\) = //p' | tr '\n' ' ')" \
	'str[1,2] ["ähre σ", "x"] str[1,3] ["MONTAG", "ÄHRE Σ", "X"] str[1] [""] ' "strings are normalised"

cat >grams.txt <<'END'
hone-text 1
meta "opset:ai.onnx" = "22"
const s = str[2,4] ["a", "b", "a", "b", "b", "c", "c", "a"]
const t = i64[5] [1, 1, 3, 3, 7]
graph main {
  a = TfIdfVectorizer(@s) {max_gram_length=2 max_skip_count=1 min_gram_length=1 mode="TF" ngram_counts=[0, 2] ngram_indexes=[1, 0, 3] pool_strings=["a", "c", "b", "a"]}
  b = TfIdfVectorizer(@t) {max_gram_length=1 max_skip_count=5 min_gram_length=1 mode="IDF" ngram_counts=[0] ngram_indexes=[0, 1] pool_int64s=[1, 7] weights=[0.5, 2.0]}
  output a = a
  output b = b
}
END
ge-load grams.txt -o grams.g
is "$(ge-fold grams.g | ge-dump | sed -n 's/^const \([a-f]\) = //p' | tr '\n' ' ')" \
	'f32[2,4] [0, 2, 0, 1, 2, 1, 0, 0] f32[2] [0.5, 2] ' "n-grams are counted"

cat >cast.txt <<'END'
hone-text 1
module ir=14 opset=28
const x = f32[4] [-9, -3, 2.5, 7]
const s = str[3] ["-1e2", "+INF", "nan"]
graph main {
  i = Cast(@x) {to=22}
  j = Cast(@x) {to=26}
  f = Cast(@x) {to=23}
  e = Cast(@x) {round_mode="down" to=24}
  n = Cast(@s) {to=1}
  t = Cast(n) {to=8}
  u = Cast(@x) {to=8}
  output i = i
  output j = j
  output f = f
  output e = e
  output t = t
  output u = u
}
END
ge-load cast.txt -o cast.g
is "$(ge-fold cast.g | ge-dump | sed -n 's/^const \([ijfetu]\) = //p' | tr '\n' ' ')" \
	'i4[4] [7, -3, 2, 7] i2[4] [-1, 1, -2, -1] f4e2m1[4] [0x0f, 0x0d, 0x04, 0x07] f8e8m0[4] [0x82, 0x80, 0x80, 0x81] str[3] ["-100.0", "INF", "NaN"] str[4] ["-9.0", "-3.0", "2.5", "7.0"] ' \
	"casts to few bits keep the low ones, to powers of two they round as said; strings"

# Files: what NumPy and ml_dtypes make of each type.
cat >all.txt <<'END'
hone-text 1
module ir=10 opset=28
graph main {
  input bf16: bf16[2,3]
  input e4m3: f8e4m3fn[2,3]
  input e5m2: f8e5m2[2,3]
  input i4: i4[2,3]
  input u4: u4[2,3]
  input c64: c64[2]
  input str: str[2,2]
  input seq: ?[*]%"seq(tensor(float))"
  input none: ?[*]%"seq(tensor(int64))"
  input opt: ?[1]%"optional(seq(tensor(string)))"
  input empty: ?[*]%"optional(tensor(float))"
  output out_bf16 = bf16
  output out_e4m3 = e4m3
  output out_e5m2 = e5m2
  output out_i4 = i4
  output out_u4 = u4
  output out_c64 = c64
  output out_str = str
  output out_seq = seq
  output out_none = none
  output out_opt = opt
  output out_empty = empty
}
END
ge-load all.txt -o all.g
ge-dump all.g | cmp - all.txt
ok $? "the text of every type"
ge-export all.g -o all.onnx && ge-import all.onnx | ge-dump | grep '^  input' >again && grep '^  input' all.txt | diff - again >log
ok $? "to ONNX and back"
# 2^60 strings of no characters are 128 bytes of file.
{ printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "{'descr': '<U0', 'fortran_order': False, 'shape': (1152921504606846976,), }"; } >endless.npy
printf 'hone-text 1\nmodule ir=8 opset=22\nsymbol n 0 inf\ngraph main {\n  input s: str[n]\n  y = Identity(s)\n  output y = y\n}\n' | ge-load -o endless.g
run-ref endless.g -i s=endless.npy >out 2>err
[ $? = 71 ] && [ "$(wc -l <err)" = 1 ]
ok $? "more strings than memory has, none of them long" || cat err
if [ -z "$HONE_PYTHON" ] || ! "$HONE_PYTHON" -c 'import numpy, ml_dtypes' 2>err; then
	skip "values in files" "no python with numpy and ml_dtypes (HONE_PYTHON)"
else
	within "$HONE_PYTHON" "$top/tests/op/values.py" all.g
fi
done_testing
