# Make rules for models:  include PREFIX/share/hone/hone.mk  (or share/hone.mk of the source tree)
#
#   %.g from %.onnx            the optimised graph, ready for ge-plan: that of hone build
#   %.tuned.g from %.g         the same with schedules searched for on this machine (tune-op); stopped, make goes on
#   %.so %.a %.h %.c %.weights from %.g   the library; one command makes all five. net.tuned.so is made of net.tuned.g
#
# Variables, for all models or for one (net.g: HONE_SET = batch=1,seq=128). HONE_PASSES, HONE_TUNE and HONE_EMIT are words of a shell, the
# others are data:
#   HONE_SET      sizes of symbols, as --set takes them; several are divided by blanks
#   HONE_SHAPE    shapes of inputs, as --shape takes them; several are divided by blanks
#   HONE_PASSES   options for hone passes (net.so: HONE_PASSES = --threads 4)
#   HONE_TUNE     options for tune-op (net.tuned.g: HONE_TUNE = --seconds 600)
#   HONE_TARGET   what the library is made for, as --target of ge-emit takes it; this machine. Of several names with commas between them,
#                 for which one library is made, %.g is the graph before the first stage that a target has a say in
#   HONE_EMIT     options for ge-emit (net.so: HONE_EMIT = --embed)
#   HONE_BLOBS    where weights are kept; build/blobs
#   HONE          the command; hone
#
# Nothing is made again unless the model, these variables or hone's version have changed; a model that
# was only touched goes through the passes, and its library stays.

HONE       ?= hone
HONE_BLOBS ?= build/blobs
export HONE_BLOBS HONE_SET HONE_SHAPE HONE_PASSES HONE_EMIT HONE_TUNE

# Names reach a recipe's shell as variables, never as its text: whatever is in them stays data.
export hone_file = $@
export hone_of   = $<
export hone_stem = $*
export hone_for  = $(HONE_TARGET)
unexport HONE_TARGET # in the environment it would say what this machine passes for

# Names with commas between them: several targets. A row, which has a =, has commas of its own.
hone_comma := ,
hone_several = $(if $(findstring =,$(HONE_TARGET)),,$(findstring $(hone_comma),$(HONE_TARGET)))

# The options that sizes and target are, as "$@" of the shell.
hone_options = set -f; set --; for w in $$HONE_SET; do set -- "$$@" --set "$$w"; done; \
	for w in $$HONE_SHAPE; do set -- "$$@" --shape "$$w"; done$(if $(hone_several),,; [ -z "$$hone_for" ] || set -- "$$@" --target "$$hone_for")

# What a file was made with, rewritten only when it differs: the options and these words.
hone_args = $(hone_options); $(if $(hone_several),set -- "$$@" --target "$$hone_for";) args=$$($(HONE) --version; printf ' %s' "$$@" $(1)); printf '%s\n' "$$args" | cmp -s -- - "$$hone_file" || \
	{ case $$hone_file in */*) mkdir -p -- "$${hone_file%/*}" ;; esac && printf '%s\n' "$$args" >"$$hone_file"; }
%.g.args: hone-force
	@$(call hone_args,"$$HONE_PASSES")
%.tuned.g.args: hone-force
	@$(call hone_args,"$$HONE_TUNE")
%.so.args: hone-force
	@$(call hone_args,"$$HONE_PASSES" "$$HONE_EMIT")

%.passed: %.onnx %.g.args
	$(hone_options); $(HONE) passes --until $(if $(hone_several),gears,schedule) "$$@" $(HONE_PASSES) -o "$$hone_file" -- "$$hone_of"
%.g: %.passed
	@cmp -s -- "$$hone_of" "$$hone_file" || { cp -- "$$hone_of" "$$hone_file.part" && mv -- "$$hone_file.part" "$$hone_file"; }

# An interrupt leaves the best so far for the knowledge base, not as a finished file: the next make goes on. A shell hears of a
# signal at once only while it waits for what is in the background.
%.tuned.g: %.g %.tuned.g.args
	s=; trap 's=130; kill $$p' INT; trap 's=143; kill $$p' TERM HUP; \
	$(HONE) tune-op $(HONE_TUNE) -o "$$hone_file.part" -- "$$hone_of" & p=$$!; \
	wait $$p; r=$$?; [ -z "$$s" ] || { wait $$p; rm -f -- "$$hone_file.part"; exit $$s; }; \
	[ $$r = 0 ] && mv -- "$$hone_file.part" "$$hone_file"

hone_one_library = $(HONE) passes --from plan "$$@" $(HONE_PASSES) -- "$$hone_of" | \
	$(HONE) ge-emit $${hone_for:+"--target=$$hone_for"} $(HONE_EMIT) -o "$$hone_stem"
# Of a graph planned for each target, which is made beside the library.
hone_library = all=$$hone_for,; n=0; while [ "$$all" ]; do one=$${all%%,*}; all=$${all\#*,}; n=$$((n + 1)); \
	$(HONE) passes --from mixed "$$@" --target "$$one" $(HONE_PASSES) -o "$$hone_stem.$$n.part" -- "$$hone_of" || exit; done; \
	set --; for k in $$(seq $$n); do set -- "$$@" "$$hone_stem.$$k.part"; done; \
	$(HONE) ge-emit --target="$$hone_for" $(HONE_EMIT) -o "$$hone_stem" -- "$$@" && rm -f -- "$$@"
%.so %.a %.h %.c %.weights: %.g %.so.args
	$(hone_options); $(if $(hone_several),$(hone_library),$(hone_one_library))

.PHONY: hone-force
.PRECIOUS: %.g %.tuned.g %.passed %.g.args %.tuned.g.args %.so.args
