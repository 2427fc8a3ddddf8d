# attack NAME RUNS SEED: NAME.txt or NAME.onnx, a model of open sizes, at so many random ones: its steps and kernels under address and
# undefined-behaviour sanitizers, every value in memory of just its size. Sourced after tests/lib.sh. GEARS: gears that the model is built
# with. BETWEEN=between: hostile runs between those that are compared.
sanitized="-g -fsanitize=address,undefined -fno-sanitize=float-divide-by-zero,float-cast-overflow,alignment -fno-sanitize-recover=undefined"
drive_libs="$(for l in onnx grad op kb graph native common; do printf '%s ' "$top/build/lib$l.a"; done) -lprotobuf-c -lmsgpackc -lxxhash -lz -lm -pthread"
attack_passes() {
	case $1 in *.txt) ge-load "$1" ;; *) ge-import -q "$1" ;; esac | ge-shape -q | ge-fold -q | ge-simplify -q --prove | ge-deadedge -q | ge-cse -q |
		ge-dedup -q | ge-prune -q | ge-integer -q | ge-fuse -q | ge-layout -q
}
attack_planned() { # MODEL: $name.g for the evaluator, $name.p.g for ge-emit
	if [ -n "${GEARS:-}" ]; then
		ge-load "$1" | ge-shape -q -o "$name.g" && hone passes -q --gears "$GEARS" --until plan "$name.g" -o "$name.p.g"
	else
		attack_passes "$1" >"$name.g" && ge-plan -q "$name.g" -o "$name.p.g"
	fi
}
# What a slot has beyond its value, and a workspace beyond what a step asks for, is poisoned; blocks of lists are of just their size, and
# never used again.
tight() {
	sed -e 's/^\tif (bytes < 0 || (size_t)bytes > s->bytes || !s->own)$/\tif (1)/' -e 's/^\ts->v\.data = s->own;$/__asan_unpoison_memory_region(s->own, s->bytes); __asan_poison_memory_region((char *)s->own + bytes, s->bytes - bytes);\n&/' \
		-e 's/^\tb = at < BLOCK_SIZES ? home->unused\[at\] : NULL;$/\tif (posix_memalign((void **)\&b, 64, sizeof *b + (size_t)bytes)) b = NULL;/' \
		-e 's/^\t\thome->unused\[size = at\] = b->next;$/\t\t;/' -e 's/^\tb->next = b->home->unused\[b->size\];$/\tfree(b);\n\treturn;/' \
		-e '/^static int slot_grow(/,/^}/s/^\tif (s->own && bytes <= s->bytes)$/\tif (s->own) __asan_unpoison_memory_region(s->own, s->bytes);\n&/' \
		-e 's/^\tif (bytes < 0)$/if (m->work) { __asan_unpoison_memory_region(m->work, m->work_bytes); if (bytes >= 0 \&\& (size_t)bytes < m->work_bytes) __asan_poison_memory_region((char *)m->work + bytes, m->work_bytes - bytes); }\n&/' "$1"
}
attack() {
	name=$1
	model=$(ls "$name".txt "$name".onnx 2>/dev/null)
	attack_planned "$model" 2>said && ge-emit -q --embed --no-compile "$name.p.g" -o "$name" 2>said || {
		case $? in 69) skip "$name" "$(cat said)" ;; *) ok 1 "$name is built: $(cat said)" ;; esac
		return
	}
	{ echo '#include <sanitizer/asan_interface.h>' && tight "$name.c"; } >"$name.tight.c"
	for what in 'own + bytes' 'if (1)$'; do # of slot_bytes and slot_record
		! grep -q slot_bytes "$name.c" || grep -q "$what" "$name.tight.c" || ok 1 "$name: a slot is poisoned behind its value: $what"
	done
	for what in 'posix_memalign((void \*\*)&b' '^[[:space:]]*;$' '^[[:space:]]free(b);$'; do # of block_new and block_drop
		! grep -q block_new "$name.c" || grep -q "$what" "$name.tight.c" || ok 1 "$name: a block is as large as its value: $what"
	done
	[ -e drive ] || ${CC:-cc} -w $sanitized -std=gnu11 -O1 -I"$top/lib" -I"$top/tests" "$top/tests/model/sizes/drive.c" $drive_libs -ldl -o drive 2>said ||
		{ ok 1 "the driver is compiled: $(cat said)"; return; }
	${CC:-cc} -w $sanitized -I"$top/lib" $(sed -n 's/.*Compile with: //p' "$name.c" | head -1) -O0 -shared -fPIC "$name.tight.c" $drive_libs -o "./$name.attacked" 2>said ||
		{ ok 1 "$name is compiled: $(cat said)"; return; }
	HONE_BODIES=1000 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:max_allocation_size_mb=16:detect_stack_use_after_return=0 timeout 600 ./drive "./$name.attacked" "$name.g" "$2" "$3" ${BETWEEN:-} >out 2>said
	code=$?
	[ $code = 0 ] && ! grep -q 'ERROR\|runtime error' said
	ok $? "$name: $(tail -n 1 out)" || { echo "# exit $code"; sed 's/^/# /' out | head -40; grep -v 'WARNING.*failed to allocate' said | head -20; }
}
