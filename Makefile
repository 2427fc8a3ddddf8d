# hone: make demo, make check, make install. Everything built lands in bin/ and build/.

# The floors, lowest first. A file includes its own library and those of the floors left of it, never
# right, never sideways ("/" ends a floor). The link order and tests/tools/t-floors.sh both read this line.
FLOORS = common / native / graph target / op kb / grad / loop onnx runner comm quant / cost / sched emit / lower / model / source search / tune

# Options of the compiler that are given stay, in build/given.mk, until others are: make install installs what was built. With others than
# before all is compiled anew.
GIVEN := CROSS SYSROOT CC CFLAGS CPPFLAGS LDFLAGS
-include build/given.mk
unset  = $(filter default undefined,$(origin $(1)))
$(foreach v,$(GIVEN),$(if $(call unset,$(v)),$(if $(call unset,GIVEN_$(v)),,$(eval $(v) = $$(GIVEN_$(v))))))
GIVEN := $(foreach v,$(GIVEN),$(if $(call unset,$(v)),,$(v)))
$(foreach v,$(GIVEN),$(eval NOW_$(v) := $$($(v))))

ifeq ($(origin CC),default) # make has one of its own, so ?= would do nothing
CC       = gcc
endif
STRIP   ?= strip
# CROSS=aarch64-linux-gnu- builds for another kind of CPU; SYSROOT is a folder with its libraries, as Debian lays them out.
ifdef CROSS
CC    = $(CROSS)gcc
AR    = $(CROSS)ar
STRIP = $(CROSS)strip
endif
ifdef SYSROOT
LIBDIRS  := $(SYSROOT)/usr/lib/$(CROSS:%-=%) $(SYSROOT)/lib/$(CROSS:%-=%)
CPPFLAGS += -I$(SYSROOT)/usr/include
LDFLAGS  += $(LIBDIRS:%=-L%) $(LIBDIRS:%=-Wl,-rpath,%)
export PKG_CONFIG_SYSROOT_DIR = $(SYSROOT)
export PKG_CONFIG_LIBDIR = $(SYSROOT)/usr/lib/$(CROSS:%-=%)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig
endif
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
PYTHON  ?= python3
PKGS     = libprotobuf-c msgpack lmdb libxxhash
DEBS     = gcc make pkg-config libprotobuf-c-dev protobuf-c-compiler libmsgpack-dev liblmdb-dev \
           libxxhash-dev zlib1g-dev parallel
TESTDEBS = libxgboost0 libonnx-testdata clang-format-14 mandoc openssh-server openssh-client iproute2  # tests that want them skip without

WARN     = -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror=implicit-function-declaration
ifdef CI
WARN    += -Werror
endif
# Nothing is rounded once where the text has two steps: what hone chooses is the same on every kind of CPU.
ALLCFLAGS = -std=gnu11 -pthread -fno-math-errno -ffp-contract=off -fPIC -fvisibility=hidden $(WARN) $(CFLAGS) $(CPPFLAGS) -Ilib -Ibuild/gen $(PKG_CFLAGS)
ALLLIBS   = $(PKG_LIBS) -lz -lm -pthread
-include build/pkgs.mk

LIBS    := $(filter-out /,$(FLOORS))
LIBS    := $(foreach l,$(LIBS),$(if $(wildcard lib/$(l)/*.c),$(l)))
reverse  = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
ARCHIVES:= $(patsubst %,build/lib%.a,$(call reverse,$(LIBS)))
CTOOLS  := $(foreach d,$(wildcard tools/*),$(if $(wildcard $(d)/$(notdir $(d)).c),$(notdir $(d))))
STOOLS  := $(foreach d,$(wildcard tools/*),$(if $(wildcard $(d)/$(notdir $(d)).sh),$(notdir $(d))))
BENCHES := $(patsubst bench/%.c,build/bench/%,$(wildcard bench/*.c))
TESTED  := $(LIBS) passes tools # the folders of tests/ whose C files are programs
UNITSRC := $(foreach r,$(TESTED),$(wildcard tests/$(r)/*.c))
UNITS   := $(foreach f,$(UNITSRC),build/check/$(basename $(notdir $(f))))

all: $(CTOOLS:%=bin/%) $(STOOLS:%=bin/%) build/libhone_eval.a build/libhone.a

# As a makefile, which has marks of its own.
quoted = '$(subst ','\'',$(subst #,\#,$(subst $$,$$$$,$(1))))'
# In a tree that has no such file yet, objects are of these options. Several makes may run at once: each has a new file of its own.
build/given.mk: always
	@mkdir -p build
	@new=$@.$$$$; { :; $(foreach v,$(GIVEN),printf 'GIVEN_%s = %s\n' $(v) $(call quoted,$(NOW_$(v)));) } >$$new; \
		[ -e $@ ] || touch -d 2000-01-01 $$new; \
		if cmp -s $@ $$new; then rm $$new; else mv $$new $@; fi

# What pkg-config says, once.
build/pkgs.mk: Makefile
	@mkdir -p build
	@command -v pkg-config >/dev/null && pkg-config --exists $(PKGS) || { echo "missing packages; run: make deps" >&2; rm -f $@; exit 1; }
	@echo "PKG_CFLAGS = $$(pkg-config --cflags $(PKGS))" > $@
	@echo "PKG_LIBS = $$(pkg-config --libs $(PKGS))" >> $@

build/%.o: %.c build/given.mk | build/pkgs.mk build/gen/passes.inc
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) -MMD -MP -c -o $@ $<

build/gen/%.o: build/gen/%.c build/given.mk
	$(CC) $(ALLCFLAGS) -w -c -o $@ $<
build/gen/onnx.pb-c.c build/gen/onnx.pb-c.h &: lib/onnx/onnx.proto
	@mkdir -p build/gen
	protoc-c --proto_path=lib/onnx --c_out=build/gen onnx.proto
$(patsubst %.c,build/%.o,$(wildcard lib/onnx/*.c lib/onnx/*/*.c)): | build/gen/onnx.pb-c.h

# Text that a program carries in it: build/gen/FILE.inc is FILE as a C string.
build/gen/%.inc: %
	@mkdir -p $(@D)
	@sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< > $@
build/lib/source/text.o: build/gen/lib/source/bare.in.inc build/gen/lib/source/native.in.inc build/gen/lib/source/several.in.inc build/gen/lib/source/runtime.in.inc build/gen/lib/source/header.in.inc build/gen/lib/source/team.in.inc build/gen/lib/source/few.in.inc build/gen/lib/source/checksum.in.inc \
	build/gen/lib/source/sections.in.inc build/gen/lib/source/values.in.inc build/gen/lib/source/values_run.in.inc build/gen/lib/source/sizes.in.inc build/gen/lib/source/gears.in.inc build/gen/lib/source/flow.in.inc build/gen/lib/op/hone_value.h.inc \
	build/gen/lib/runner/model_abi.h.inc build/gen/lib/op/opaque.h.inc build/gen/lib/source/state.in.inc build/gen/lib/source/append.in.inc build/gen/lib/source/undo.in.inc build/gen/lib/source/lend.in.inc build/gen/lib/source/maps.in.inc build/gen/lib/source/lists.in.inc build/gen/lib/source/lists_native.in.inc build/gen/lib/source/state_file.h.inc
# The cost model that schedules are chosen by, and the records that it learned from.
build/lib/cost/usual.o: build/gen/share/models/cost.model.inc
model: bin/tune-model
	bin/tune-model train $(sort $(wildcard bench/records/*.txt)) -o share/models/cost.model
# The built-in layer of the knowledge base, and the records that it is made from.
winners: bin/kb
	bench/winners.sh -o share/kb/winners.txt $(sort $(wildcard bench/records/*.txt))

# Operators in plain C: which function stands in which file, and the text of each file with the headers of its room.
NATIVES := $(filter-out lib/native/table.c,$(wildcard lib/native/*.c))
NATIVETEXTS := $(NATIVES:%=build/gen/%.inc)
build/gen/lib/native/table.inc: $(NATIVES) lib/native
	@mkdir -p $(@D)
	@awk '/^NATIVE const char \*native_[A-Za-z0-9]+\(/ { file = FILENAME; gsub(/.*\/|\.c$$/, "", file); sub(/^NATIVE const char \*native_/, ""); sub(/\(.*/, ""); print "ROW(" $$0 ", \"" file "\")" }' \
		$(NATIVES) > $@
build/lib/native/table.o: build/gen/lib/native/table.inc
build/gen/lib/native/files.inc: $(NATIVETEXTS) lib/native
	@for f in $(basename $(notdir $(NATIVES))); do printf '{"%s",\n#include "lib/native/%s.c.inc"\n},\n' $$f $$f; done > $@
$(NATIVETEXTS) build/gen/lib/native/native.h.inc: build/gen/%.inc: % $(wildcard lib/native/*.h)
	@mkdir -p $(@D)
	@awk 'function put(f, l) { while ((getline l < f) > 0) if (l ~ /^#include "native\//) { if (l !~ /native\.h"/) { gsub(/.*include "|"$$/, "", l); put("lib/" l) } } else print l; close(f) } BEGIN { put("$<") }' | \
		sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' > $@
build/lib/source/native.o: build/gen/lib/native/files.inc build/gen/lib/native/native.h.inc
# What kernels call, in quotes: no model has such a name.
CALLED := $(wildcard lib/target/*/*.c) lib/emit/prelude.c lib/loop/math.c lib/loop/instr.c
build/gen/lib/source/called.inc: $(CALLED)
	@mkdir -p $(@D)
	@sed -nE 's/.*"static inline [a-z]+ ([a-z_0-9]+)\(.*/"\1",/p; s/.*"typedef .* ([a-z]+)( __attribute__|;).*/"\1",/p; s/.*LANE_BY_LANE\("([a-z]+).*/"\1",/p' \
		$(CALLED) | LC_ALL=C sort -u > $@
# What the texts that all models carry along declare: the same.
DECLARED := $(wildcard lib/source/*.in lib/source/*.c lib/native/*.h) lib/source/state_file.h lib/op/hone_value.h lib/runner/model_abi.h lib/op/opaque.h
build/gen/lib/source/declared.inc: lib/source/declared.awk $(DECLARED)
	@mkdir -p $(@D)
	@awk -f lib/source/declared.awk $(DECLARED) | LC_ALL=C sort -u > $@
# The macros of the headers that they include, and of the compiler: the same. Names that begin with an underscore are no model's anyway.
build/gen/lib/source/macros.inc: $(DECLARED)
	@mkdir -p $(@D)
	@{ echo '#define _GNU_SOURCE'; grep -oh '#include <[a-z/]*\.h>' $(DECLARED) | LC_ALL=C sort -u; } | \
		$(CC) $(CPPFLAGS) -dM -E - | sed -nE 's/^#define ([A-Za-z][A-Za-z_0-9]*).*/"\1",/p' | LC_ALL=C sort -u > $@
# What the names of a model's functions end in.
build/gen/lib/source/suffixes.inc: lib/source/header.in
	@mkdir -p $(@D)
	@grep -oE '@NAME@_[a-z_]+\(' $< | sed 's/@NAME@/"/; s/(/",/' | LC_ALL=C sort -u > $@
build/lib/source/name.o: $(patsubst %,build/gen/lib/source/%.inc,called declared macros suffixes)
# The table of strategies is the list of their files.
STRATEGIES := $(wildcard lib/search/strategies/*.c)
build/gen/lib/search/strategies.inc: $(STRATEGIES) lib/search/strategies
	@mkdir -p $(@D)
	@printf 'STRATEGY(%s)\n' $(sort $(basename $(notdir $(STRATEGIES)))) > $@
build/lib/search/search.o: build/gen/lib/search/strategies.inc
build/tools/hone/bundle.o: build/gen/tools/hone/bundle_check.in.inc
build/tools/hone/bundle_bare.o: build/gen/tools/hone/bundle_bare.in.inc build/gen/tools/hone/bundle_board.in.inc
build/lib/runner/compile_server.o: build/gen/lib/runner/compile_server.in.inc build/gen/lib/runner/compile_order.h.inc

build/tools/ge-dot/html.o: build/gen/tools/ge-dot/page.css.inc build/gen/tools/ge-dot/page.js.inc

# Of the list of stages, the passes that every graph goes through.
build/gen/passes.inc: tools/hone/stages.h Makefile
	@mkdir -p $(@D)
	@awk -F'[^a-zA-Z_]+' '$$1 == "STAGE" && $$4 ~ /^(ALWAYS|FOR_RUNS|JOINED)$$/ { print "PASS(" $$3 ")" }' $< > $@

# The backends: a folder of lib/target each, the generic one first.
BACKENDS := generic $(filter-out generic,$(patsubst lib/target/%/,%,$(wildcard lib/target/*/)))
build/gen/lib/target/backends.inc: lib/target
	@mkdir -p $(@D)
	@printf 'BACKEND(%s)\n' $(BACKENDS) > $@
build/lib/target/backend.o: build/gen/lib/target/backends.inc

# Of a room, its folders' too: two files of an archive may have one name.
sources = $(wildcard lib/$(1)/*.c lib/$(1)/*/*.c)
define library
build/lib$(1).a: $(patsubst %.c,build/%.o,$(call sources,$(1))) $(if $(filter onnx,$(1)),build/gen/onnx.pb-c.o)
	@rm -f $$@
	$(AR) cqs $$@ $$^
endef
$(foreach l,$(LIBS),$(eval $(call library,$(l))))

# The evaluator, for the steps of compiled models that have no kernel: the same objects, without main. They need
# libc, libm and pthread only.
build/libhone_eval.a: $(patsubst %.c,build/%.o,$(filter-out lib/common/main.c,$(foreach l,common native graph op,$(call sources,$(l)))))
	@rm -f $@
	$(AR) cqs $@ $^
	@$(STRIP) -g $@

# One archive for passes of one's own, which examples/pass shows: what the tools ge-* link, with main.
EMBEDDED = common native graph target op
build/libhone.a: $(patsubst %.c,build/%.o,$(foreach l,$(EMBEDDED),$(call sources,$(l))))
	@rm -f $@
	$(AR) cqs $@ $^
	@$(STRIP) -g $@

define ctool
bin/$(1): $(patsubst %.c,build/%.o,$(wildcard tools/$(1)/*.c)) $(ARCHIVES)
	@mkdir -p bin
	$(CC) $(CFLAGS) $(LDFLAGS) -o $$@ $$^ -Wl,--as-needed $$(ALLLIBS)
endef
$(foreach t,$(CTOOLS),$(eval $(call ctool,$(t))))

# The version, to the commit.
bin/hone bin/ge-emit: build/gen/build.o
build/gen/build.c: always
	@mkdir -p $(@D)
	@version=$$(lib/common/version.sh) || [ ! -e $@ ] || exit 0; new=$@.$$$$; \
		printf '#include "common/tool.h"\nconst char hone_build[] = "%s";\n' "$$version" >$$new; \
		if cmp -s $@ $$new; then rm $$new; else mv $$new $@; fi

# Parts of a shell tool, other .sh of its folder, stand before it.
$(foreach t,$(STOOLS),bin/$(t)): bin/%:
	@mkdir -p bin
	{ head -n 1 tools/$*/$*.sh; cat $^; } >$@.part && chmod 755 $@.part && mv $@.part $@
$(foreach t,$(STOOLS),$(eval bin/$(t): $(filter-out tools/$(t)/$(t).sh,$(wildcard tools/$(t)/*.sh)) tools/$(t)/$(t).sh))

# A test program is build/check/NAME, whatever its folder.
define unit
build/check/$(basename $(notdir $(1))): build/$(basename $(1)).o $(ARCHIVES)
	@mkdir -p build/check
	$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(ARCHIVES) -Wl,--as-needed $$(ALLLIBS)
build/$(basename $(1)).o: ALLCFLAGS += -Itests
endef
$(foreach f,$(UNITSRC),$(eval $(call unit,$(f))))

deps:
	@tests/deps.sh $(DEBS)

test-deps:
	@tests/deps.sh $(TESTDEBS)

demo:
	@tests/deps.sh $(DEBS)
	@echo "building"
	@$(MAKE) --no-print-directory -s -j2 all
	@examples/digits/demo.sh

NETLAB := build/tests/net/netlab
check:
	@tests/deps.sh $(DEBS)
	@tests/deps.sh $(TESTDEBS) || echo "without some of them: the tests that want them skip, and say so"
	@$(MAKE) --no-print-directory -j2 checked
checked: all $(UNITS) $(NETLAB) $(BENCHES) fuzzed
	@tests/run.sh

# What tests and benchmarks compare with, from PyPI, in build/python; tests that want it skip without.
peers: build/python/done
build/python/done: tests/peers.txt
	@tests/deps.sh python3-venv
	$(PYTHON) -m venv build/python
	build/python/bin/pip install -q -r $<
	@touch $@

# The same under the address and undefined-behaviour sanitizers, in a copy of the tree; what they say fails it too. gcc warns falsely
# under them: warnings are no errors there.
asan-check: export ASAN_OPTIONS = detect_leaks=0:allocator_may_return_null=1:log_path=$(CURDIR)/build/asan/said
asan-check: export UBSAN_OPTIONS = print_stacktrace=1:log_path=$(CURDIR)/build/asan/said
asan-check:
	@mkdir -p build/asan && rm -f build/asan/said.*
	@tar -c --exclude=./build --exclude=./bin --exclude=./.git . | tar -x -C build/asan
	$(MAKE) -C build/asan CI= CC='gcc -fsanitize=address,undefined -static-libubsan' CFLAGS='-O1 -g -fno-omit-frame-pointer' check
	@! cat build/asan/said.* 2>/dev/null | grep .

# AArch64 on any machine: a copy of the tree is built by a cross compiler, and an emulator runs it. With less optimisation gcc warns falsely:
# warnings are no errors there. make check-aarch64 CASES=300 runs that many conformance cases, too, the unit tests and the passes on many
# models, which two free cores do in ten minutes. make check runs t-aarch64.sh, too, once such a tree is there.
CROSSDEBS = gcc-aarch64-linux-gnu qemu-user
CROSSLIBS = libprotobuf-c-dev libprotobuf-c1 libmsgpack-dev libmsgpackc2 liblmdb-dev liblmdb0 libxxhash-dev libxxhash0 zlib1g-dev zlib1g
cross-deps:
	@tests/deps.sh $(DEBS) $(CROSSDEBS)
	@tests/cross/sysroot.sh arm64 build/aarch64/root $(CROSSLIBS)
	@echo 'int main(void) { return 0; }' | aarch64-linux-gnu-gcc -x c - -o build/aarch64/runs && qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/runs
cross: all
	@mkdir -p build/aarch64/tree
	@tar -c --exclude=./build --exclude=./bin --exclude=./.git . | tar -x -C build/aarch64/tree
	@$(MAKE) -s -j2 -C build/aarch64/tree CI= CROSS=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc CFLAGS=-O1 SYSROOT=$(CURDIR)/build/aarch64/root all $(if $(CASES),$(UNITS))
	@touch build/aarch64/tree/bin/*
check-aarch64: cross-deps
	@$(MAKE) --no-print-directory cross
	@tests/run.sh $(if $(CASES),t-cross-units.sh) t-aarch64.sh $(if $(CASES),t-cross-cases.sh t-cross-passes.sh)

# What takes longer than make check has time for, many hours: tests/soak, each file says what. With less work: make soak SEEDS=20 CASES=500
# MUTANTS=100 MODELS=3 RUNS=1000 TRIES=50 KILLS=5. Much of it wants a python that has onnx and onnxruntime (make peers, or HONE_PYTHON).
soak:
	@tests/deps.sh $(DEBS)
	@tests/deps.sh $(TESTDEBS) || echo "without some of them: the tests that want them skip, and say so"
	@$(MAKE) --no-print-directory -j2 soaked
soaked: all $(UNITS) fuzzed build/bench/runner $(NETLAB)
	@PROGRESS=$${PROGRESS:-60} PYTHONUNBUFFERED=1 tests/run.sh $(notdir $(wildcard tests/soak/*.sh))

# ONNX's conformance cases, those of the installed onnx and Debian's: evaluated, after every pass, exported, as libraries, and without
# the slow path. Then drawn forms of each operator of com.microsoft, so many of each (FORMS), against ONNX Runtime. make conformance CASES='-j 4 topk'
# has options and words of tests/conformance/conformance.py, and does not do the second part; make conformance-forms does that alone.
conformance: all
	@top=$(CURDIR); . bench/find.sh; python=$$(python_with 'onnx, onnxruntime, ml_dtypes') || true; \
		[ -n "$$python" ] || { echo "conformance: no python with onnx, onnxruntime and ml_dtypes: make peers, or HONE_PYTHON" >&2; exit 69; }; \
		"$$python" -B tests/conformance/conformance.py $(CASES)
	$(if $(CASES),,@$(MAKE) --no-print-directory conformance-forms)

FORMS = 20
conformance-forms: all
	@top=$(CURDIR); . bench/find.sh; python=$$(python_with 'onnx, onnxruntime') || true; \
		[ -n "$$python" ] || { echo "conformance: no python with onnx and onnxruntime: make peers, or HONE_PYTHON" >&2; exit 69; }; \
		mkdir -p build/conformance/forms && cd build/conformance/forms && \
		{ PATH=$(CURDIR)/bin:$$PATH "$$python" -B $(CURDIR)/tests/onnx/contrib_forms.py $(FORMS) $(SEED) || echo "not ok - it ended early"; } | tee ../forms.txt; \
		! grep -q '^not ok' ../forms.txt

build/bench/%: build/bench/%.o $(ARCHIVES)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(ARCHIVES) -Wl,--as-needed $(ALLLIBS)

bench: all $(BENCHES)
	@bench/bench.sh

# Fuzz targets: for make check with a driver that gives them mutants of its own (tests/tools/t-fuzz.sh); make fuzz, which nothing else
# wants, builds them for clang's libFuzzer in a copy of the tree: build/fuzz/stream -max_total_time=60 -fork=1 SEEDS
FUZZED := $(patsubst tests/fuzz/%.c,build/fuzzed/%,$(wildcard tests/fuzz/*.c))
FUZZMAIN = build/tests/fuzz/driver/driver.o
build/fuzzed/%: build/tests/fuzz/%.o $(FUZZMAIN) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) -Wl,--as-needed $(FUZZFLAGS) $(ALLLIBS)
fuzzed: $(FUZZED)
fuzz:
	@mkdir -p build/fuzz/tree
	@tar -c --exclude=./build --exclude=./bin --exclude=./.git . | tar -x -C build/fuzz/tree
	$(MAKE) -C build/fuzz/tree CC='clang -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' CFLAGS='-O1 -g' \
		LDFLAGS=-fsanitize=fuzzer FUZZMAIN=build/tests/fuzz/driver/none.o fuzzed
	@ln -sf $(FUZZED:%=tree/%) build/fuzz

# The passes that test programs have in them, each with a name of its own for its `tool`: of the list of stages those of every graph, and
# gears.
CHAIN  := $(subst _,-,$(sort $(shell awk -F'[^a-zA-Z_]+' '$$1 == "STAGE" && $$4 ~ /^(ALWAYS|FOR_RUNS|GEARS|JOINED)$$/ { print $$3 }' tools/hone/stages.h)))
CHAINO := $(CHAIN:%=build/renamed/%.o) $(foreach t,$(CHAIN),$(patsubst %.c,build/%.o,$(filter-out tools/$(t)/$(t).c,$(wildcard tools/$(t)/*.c))))
$(CHAIN:%=build/renamed/%.c): build/renamed/%.c: Makefile tools/hone/stages.h
	@mkdir -p $(@D)
	@printf '#define tool tool_%s\n#include "tools/%s/%s.c"\n' $(subst -,_,$*) $* $* > $@
$(CHAIN:%=build/renamed/%.o): build/renamed/%.o: build/renamed/%.c build/given.mk
	$(CC) $(ALLCFLAGS) -I. -MMD -MP -c -o $@ $<
build/tests/fuzz/model.o: | build/gen/onnx.pb-c.h
build/check/unfit build/check/order build/check/gears: $(CHAINO)
build/check/unfit build/check/unfit_sizes: LDFLAGS += -Wl,--wrap=bug_at
build/fuzzed/passes build/fuzzed/model build/fuzzed/alias build/fuzzed/gears: $(CHAINO)
build/fuzzed/lines: build/tools/ge-mixed/lists.o build/tools/ge-quantize/times.o
build/fuzzed/grads: build/tools/tune-grad/team.o
$(filter-out build/fuzzed/kb build/fuzzed/stream,$(FUZZED)): FUZZFLAGS = -Wl,--wrap=bug_at

# What lies where, for install and uninstall. Programs are stripped.
DOCDIR   = $(DESTDIR)$(PREFIX)/share/doc/hone
INSTALLP = install -s --strip-program=$(STRIP) -m 755
PAGES    = $(wildcard tools/*/*.1 doc/*.5 doc/*.7)
HEADERS  = $(patsubst lib/%,%,$(foreach l,$(EMBEDDED),$(wildcard lib/$(l)/*.h)) lib/runner/model_abi.h)
EXAMPLES = $(shell git ls-files examples 2>/dev/null || find examples -type f)
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/hone $(DESTDIR)$(PREFIX)/share/hone
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(PREFIX)/share/man/man7
	$(INSTALLP) bin/hone $(DESTDIR)$(PREFIX)/bin
	$(INSTALLP) $(filter-out bin/hone,$(CTOOLS:%=bin/%)) $(DESTDIR)$(PREFIX)/libexec/hone
	$(if $(strip $(STOOLS)),install -m 755 $(STOOLS:%=bin/%) $(DESTDIR)$(PREFIX)/libexec/hone)
	for tool in $(filter-out hone,$(CTOOLS) $(STOOLS)); do ln -sfn ../libexec/hone/$$tool $(DESTDIR)$(PREFIX)/bin; done
	install -D -m 644 build/libhone_eval.a $(DESTDIR)$(PREFIX)/lib/hone/libhone_eval.a
	install -D -m 644 build/libhone.a $(DESTDIR)$(PREFIX)/lib/libhone.a
	install -D -m 644 share/hone.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/hone.pc
	for file in $(HEADERS); do install -D -m 644 lib/$$file $(DESTDIR)$(PREFIX)/include/hone/$$file; done
	install -m 644 include/hone.hpp $(DESTDIR)$(PREFIX)/include/hone
	install -m 644 share/hone.mk $(DESTDIR)$(PREFIX)/share/hone
	$(if $(CROSS),,rm -f $(DESTDIR)$(PREFIX)/share/hone/kb && bin/kb load -q --kb $(DESTDIR)$(PREFIX)/share/hone/kb share/kb/winners.txt)
	install -m 755 $(wildcard clients/*.py) $(DESTDIR)$(PREFIX)/share/hone
	install -D -m 644 share/completions/hone $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hone
	for page in $(PAGES); do install -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}; done
	install -D -t $(DOCDIR) -m 644 LICENSE NEWS README.md
	for file in $(EXAMPLES); do install -D $$file $(DOCDIR)/$$file; done

# Takes back what install did, by the same list.
uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/libexec/hone $(DESTDIR)$(PREFIX)/lib/hone $(DESTDIR)$(PREFIX)/include/hone $(DESTDIR)$(PREFIX)/share/hone $(DOCDIR)
	rm -f $(patsubst %,$(DESTDIR)$(PREFIX)/bin/%,$(CTOOLS) $(STOOLS)) $(DESTDIR)$(PREFIX)/lib/libhone.a $(DESTDIR)$(PREFIX)/lib/pkgconfig/hone.pc $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hone
	for page in $(PAGES); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done

# Packages: what make install puts under a folder, as a wheel for pip (clients/python) and as a Debian package.
wheel: all
	@rm -rf build/wheel
	@$(MAKE) -s --no-print-directory install DESTDIR=$(CURDIR)/build/wheel/root PREFIX=/hone
	@$(PYTHON) -B clients/python/wheel.py build/wheel/root/hone -o build/wheel && rm -rf build/wheel/root
deb: all
	@rm -rf build/deb
	@$(MAKE) -s --no-print-directory install DESTDIR=$(CURDIR)/build/deb/root PREFIX=/usr
	@share/deb/deb.sh build/deb/root build/deb && rm -rf build/deb/root

help:
	@echo 'make                builds all tools into bin/'
	@echo 'make demo           installs what is missing, builds, compiles and tunes a network that reads digits'
	@echo 'make check          installs what the tests need, and runs them; make check-ROOM: those of one folder of tests/'
	@echo 'make peers          what tests and benchmarks compare with (ONNX Runtime and others, from PyPI) into build/python'
	@echo 'make bench          times models beside these'
	@echo 'make conformance    ONNX conformance cases; make soak: long random tests; make fuzz: fuzzing'
	@echo 'make install        into PREFIX ($(PREFIX)), under DESTDIR; make uninstall takes it back'
	@echo 'make wheel          a package for pip, with the Python interface, into build/wheel; make deb: one for Debian, into build/deb'
	@echo 'make model          learns the cost model from bench/records; make winners: what wins of them into share/kb'
	@echo 'make CROSS=aarch64-linux-gnu-   builds for another kind of CPU; make cross-deps installs what that needs'
	@echo 'make CC=... CFLAGS=...   CPPFLAGS, LDFLAGS: kept for the builds after this, until others are given'
	@echo 'make clean          removes bin/ and build/'

clean:
	rm -rf bin build

.PHONY: always all deps test-deps demo model winners check checked peers fuzzed asan-check cross-deps cross check-aarch64 soak soaked conformance bench conformance-forms fuzz install uninstall wheel deb help clean
.SECONDARY:
-include $(shell find build -type f -name '*.d' 2>/dev/null)
