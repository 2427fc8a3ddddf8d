# Read by bench/*.sh and tests/t-*.sh: where models are, and what Python compares with. $top is the tree.
unset MAKEFLAGS # under make -j lines of hone begin with a model

# The models of a file's first column: all, or those whose second column is $1 (a slow one is one of bench).
model_names() { awk -v w="${1-}" '!/^#/ && NF && (w == "" || $2 == w || (w == "bench" && $2 == "slow")) { print $1 }' "$top/bench/models.txt"; }

# What the list says of model $1: the options of ge-shape, divided by blanks; its ranges, empty for "-".
model_options() { awk -v n="$1" '$1 == n { for (i = 4; i <= NF; i++) print $i }' "$top/bench/models.txt"; }
model_ranges() { awk -v n="$1" '$1 == n && $3 != "-" { print $3 }' "$top/bench/models.txt"; }

# Path of model $1, looked for in the directories of HONE_MODELS (divided by ":"); without it, build/models.
model_path() {
	[ "$1" != digits ] || { echo "$top/examples/digits/digits.onnx" && return; }
	printf '%s\n' "${HONE_MODELS:-$top/build/models}" | tr : '\n' | while IFS= read -r dir; do
		[ ! -r "$dir/$1.onnx" ] || { echo "$dir/$1.onnx" && break; }
	done
}

# python_has PYTHON NAMES: it has these modules (divided by commas). A folder alone is none: Debian's libonnx-testdata has one called onnx.
# Importing some takes seconds: the answer is kept in the folder HONE_ANSWERS, if that is set.
python_has() {
	local answer status
	answer=${HONE_ANSWERS:+$HONE_ANSWERS/$(printf %s "$1 $2 ${PYTHONPATH-}" | tr -c 'A-Za-z0-9.-' _)}
	[ -z "$answer" ] || [ ! -s "$answer" ] || return "$(cat "$answer")"
	python_imports "$@"
	status=$?
	[ -z "$answer" ] || echo $status >"$answer"
	return $status
}
python_imports() {
	"$1" -c 'import importlib, sys
for name in sys.argv[1].replace(",", " ").split():
    if not importlib.import_module(name).__file__:
        sys.exit(1)' "$2" 2>/dev/null
}

# HONE_PYTHON, else that of make peers, else python3, else Debian's, if it has what is named (onnxruntime, ...); else nothing.
python_with() {
	for p in $HONE_PYTHON "$top/build/python/bin/python" python3 /usr/bin/python3; do
		python_has "$p" "$1" && echo "$p" && return
	done
}
