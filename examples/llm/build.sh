#!/bin/sh
# build.sh MODEL [LONGEST [CHUNK [TYPE]]]: a language model, in GGUF or the layout of onnxruntime-genai, and the program that generates with it, in
# this directory. The cache holds LONGEST tokens (512); a prompt is read CHUNK tokens a run (32).
# TYPE, f16 or i8, makes the cache smaller: numbers are rounded.
set -eu
[ $# -ge 1 ] || { echo "Usage: build.sh MODEL [LONGEST [CHUNK [TYPE]]]" >&2; exit 64; }
here=$(cd "$(dirname "$0")" && pwd)
model=$1 longest=${2:-512} chunk=${3:-32} type=${4-}
# Every past_key_values.I.key is kept, and is present.I.key after a run.
alias=$(ge-import -q "$model" | ge-dump | sed -n 's/^ *input past_key_values\.\([0-9]*\)\.\(key\|value\):.*/--alias past_key_values.\1.\2=present.\1.\2/p')
[ -n "$alias" ] || { echo "build.sh: $model: no inputs past_key_values.I.key" >&2; exit 65; }
# shellcheck disable=SC2086
hone build -q "$model" -o llm ${type:+--state-type "$type"} --last logits --gears sequence_length=1,"$chunk" $alias \
	--set batch_size=1,past_sequence_length="$longest",total_sequence_length="$longest"
${CC:-cc} -O2 -I. -o generate "$here/generate.c" llm.a -lm -lpthread
