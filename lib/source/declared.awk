# The names that text of compiled models declares at file scope, and its macros, in quotes: no model may have one of them. Marks of
# templates, @LIKE_THIS@, may begin a line; names that the model's is part of are its own. Of C files, which write more of that text: the
# macros, static functions and static variables in their strings.
function put(name) { if (name ~ /^[A-Za-z_][A-Za-z_0-9]*$/) printf "\"%s\",\n", name }
{
	gsub(/^(@[A-Z]+@)+/, "")
	gsub(/__attribute__\(\([a-z]*\)\) */, "")
}
FILENAME ~ /\.c$/ {
	line = $0
	while (match(line, /"static [a-z_0-9 ]+[ *][a-z_]+\(/)) {
		text = substr(line, RSTART, RLENGTH - 1)
		put(substr(text, match(text, /[a-z_]+$/)))
		line = substr(line, RSTART + RLENGTH)
	}
	while (match($0, /#define [A-Za-z_]+|static const [a-z_0-9 ]+ \**(const )?[a-z_]+\[/)) {
		text = substr($0, RSTART, RLENGTH - (substr($0, RSTART, 1) == "s"))
		if (substr($0, 1, RSTART - 1) ~ /"/)
			put(substr(text, match(text, /[A-Za-z_]+$/)))
		$0 = substr($0, RSTART + RLENGTH)
	}
	next
}
/^#/ {
	if ($1 == "#define") {
		sub(/\(.*/, "", $2)
		put($2)
	}
	next
}
/^enum/ { constants = 1 }
constants {
	line = $0
	sub(/\/\*.*/, "", line)
	while (match(line, /[A-Z][A-Z_0-9]+/)) {
		put(substr(line, RSTART, RLENGTH))
		line = substr(line, RSTART + RLENGTH)
	}
	constants = $0 !~ /}/
	next
}
/^[a-zA-Z]/ && match($0, /[[(={;]/) {
	n = split(substr($0, 1, RSTART - 1), word, /[ *]+/)
	while (n > 1 && word[n] == "")
		n--
	put(word[n])
}
