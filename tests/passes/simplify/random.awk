# Random modules of what the rules of ge-simplify move past each other, from a seed: awk -v seed=1 -v modules=100 -f random.awk
function num(n) { return int(rand() * n) } # 0 .. n - 1
function dims(s, d) { return s == "" ? 0 : split(s, d, ",") }
function total(s, d, n, i, t) { n = dims(s, d); t = 1; for (i = 1; i <= n; i++) t *= d[i]; return t }
# A value of the last few, so that most have one user.
function pick() { return count - num(count < 6 ? count : 6) }
function like(v, i, k) { for (i = 0; i < 12; i++) { k = pick(); if (k != v && shape[k] == shape[v]) return k } return v }
function value(expr, s) { count++; shape[count] = s; body = body sprintf("  v%d = %s\n", count, expr) }
function ints(list, n, d) { n = dims(list, d); consts++; head = head sprintf("const k%d = i64[%d] [%s]\n", consts, n, list); return "@k" consts }
function float(c) { consts++; head = head sprintf("const k%d = f32[] [%s]\n", consts, c); return "@k" consts }
# Some shape of n elements.
function shaped(n, r, a) {
	r = num(4)
	if (r == 0) return n
	for (a = 2 + num(4); a > 1 && n % a; a--) ;
	return r == 1 ? a "," n / a : r == 2 ? n / a "," a : "1," a "," n / a
}
function transpose(v, n, d, p, i, j, t, s, perm) {
	n = dims(shape[v], d)
	for (i = 1; i <= n; i++) p[i] = i
	for (i = n; i > 1; i--) { j = 1 + num(i); t = p[i]; p[i] = p[j]; p[j] = t }
	for (i = 1; i <= n; i++) { s = s (i > 1 ? "," : "") d[p[i]]; perm = perm (i > 1 ? "," : "") p[i] - 1 }
	value("Transpose(v" v ") {perm=[" perm "]}", s)
}
function matmul(v, d, e, i, k) {
	if (dims(shape[v], d) != 2) return
	for (i = 0; i < 20; i++) {
		k = pick()
		if (dims(shape[k], e) == 2 && d[2] == e[1] && d[1] * e[2] < 400) { value("MatMul(v" v ", v" k ")", d[1] "," e[2]); return }
	}
}
function flag(on) { consts++; head = head sprintf("const k%d = bool[] [%d]\n", consts, on); return "@k" consts }
function concat(v, d, w) {
	if (dims(shape[v], d) != 2) return
	w = like(v)
	value("Concat(v" v ", v" w ") {axis=0}", 2 * d[1] "," d[2])
	if (num(2)) {
		count++; shape[count] = shape[v]; count++; shape[count] = shape[v]
		body = body sprintf("  v%d, v%d = Split(v%d) {axis=0 num_outputs=2}\n", count - 1, count, count - 2)
	}
}
function split_concat(v, d) {
	if (dims(shape[v], d) != 2 || d[1] % 2) return
	value("Slice(v" v ", " ints(0) ", " ints(d[1] / 2) ", " ints(0) ")", d[1] / 2 "," d[2])
}
function step(v, r, d, n) {
	r = num(26)
	if (r < 4) { n = shaped(total(shape[v])); value("Reshape(v" v ", " ints(n) ")", n) }
	else if (r < 6) transpose(v)
	else if (r < 9) value("Mul(v" v ", " float(0.25 + num(8)) ")", shape[v])
	else if (r < 10) value((num(2) ? "Div" : "Add") "(v" v ", " float(2 ^ num(3)) ")", shape[v])
	else if (r < 12) value((num(3) ? "Add" : "Mul") "(v" v ", v" like(v) ")", shape[v])
	else if (r < 13) value((num(3) ? "Relu" : num(2) ? "Sigmoid" : "Neg") "(v" v ")", shape[v])
	else if (r < 16) matmul(v)
	else if (r < 17) value("Unsqueeze(v" v ", " ints(0) ")", "1," shape[v])
	else if (r < 18) { if (shape[v] ~ /^1,/) { n = substr(shape[v], 3); value(num(2) ? "Squeeze(v" v ", " ints(0) ")" : "Expand(v" v ", " ints("3," n) ")", num(2) ? "?" : "?"); shape[count] = body ~ /Expand[^\n]*\n$/ ? "3," n : n } }
	else if (r < 19) split_concat(v)
	else if (r < 20) concat(v)
	else if (r < 21) value("Pow(v" v ", " float(num(3) - 1 ? 2 : 0.5) ")", shape[v])
	else if (r < 22) value((num(2) ? "Max(v" v ", " float(0) ")" : "Clip(v" v ", " float(0) ")"), shape[v])
	else if (r < 23) { value("Sigmoid(v" v ")", shape[v]); value("Mul(v" v ", v" count ")", shape[v]) }
	else if (r < 24) { value("ReduceMean(v" v ", " ints(-1) ")", shape[v]); n = dims(shape[v], d); sub(/[0-9]+$/, "1", shape[count]); value("Sub(v" v ", v" count ")", shape[v]) }
	else if (r < 25) value("Where(" flag(num(2)) ", v" v ", v" like(v) ")", shape[v])
	else value("Flatten(v" v ")", dims(shape[v], d) == 1 ? d[1] ",1" : d[1] "," total(shape[v]) / d[1])
}
BEGIN {
	srand(seed)
	for (m = 0; m < modules; m++) {
		count = consts = 0; head = body = ""
		shape[++count] = "4,6"; shape[++count] = "6,4"; shape[++count] = "1,24"
		while (count < 12 + m % 30) {
			v = pick()
			if (total(shape[v]) < 2000 && dims(shape[v], d) < 5) step(v)
		}
		printf "hone-text 1\nmodule ir=10 opset=28\n%sgraph main {\n  input v1: f32[4,6]\n  input v2: f32[6,4]\n  input v3: f32[1,24]\n%s", head, body
		for (i = count; i > count - 1 - num(3); i--) printf "  output y%d = v%d\n", i, i
		print "}\n"
	}
}
