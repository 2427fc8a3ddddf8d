# Make rules for models:  include PREFIX/share/hone/hone.mk  (or share/hone.mk of the source tree)
#
#   %.g from %.onnx            the optimised graph, ready for ge-plan
#   %.tuned.g from %.g         the same with schedules searched for on this machine (tune-op); stopped, make goes on
#   %.so %.a %.h %.c %.weights from %.g   the library; one command makes all five. net.tuned.so is made of net.tuned.g
#
# Variables, for all models or for one (net.g: HONE_SET = batch=1,seq=128):
#   HONE_SET      sizes of symbols, as --set takes them
#   HONE_SHAPE    shapes of inputs, as --shape takes them; several are divided by blanks
#   HONE_TUNE     options for tune-op (net.tuned.g: HONE_TUNE = --seconds 600)
#   HONE_TARGET   what the library is made for, as --target of ge-emit takes it; this machine
#   HONE_EMIT     options for ge-emit (net.so: HONE_EMIT = --embed)
#   HONE_BLOBS    where weights are kept; build/blobs
#   HONE          the command; hone
#
# Nothing is made again unless the model, these variables or hone's version have changed; a model that
# was only touched goes through the passes, and its library stays.

HONE       ?= hone
HONE_BLOBS ?= build/blobs
export HONE_BLOBS

hone_sizes = $(HONE_SET:%=--set '%') $(foreach s,$(HONE_SHAPE),--shape '$(s)')

hone_target = $(if $(HONE_TARGET),--target '$(HONE_TARGET)')

# The variables a file was made with, rewritten only when they differ.
%.g.args: hone-force
	@printf '%s\n' "$$($(HONE) --version)" "$(hone_sizes)" | cmp -s - $@ || { mkdir -p $(@D) && \
	printf '%s\n' "$$($(HONE) --version)" "$(hone_sizes)" >$@; }
%.tuned.g.args: hone-force
	@printf '%s\n' "$$($(HONE) --version)" "$(HONE_TUNE)" | cmp -s - $@ || printf '%s\n' "$$($(HONE) --version)" "$(HONE_TUNE)" >$@
%.so.args: hone-force
	@printf '%s\n' "$(hone_target) $(HONE_EMIT)" | cmp -s - $@ || printf '%s\n' "$(hone_target) $(HONE_EMIT)" >$@

%.passed: %.onnx %.g.args
	$(HONE) ge-import $< | $(HONE) ge-shape $(hone_sizes) | $(HONE) ge-fold | $(HONE) ge-simplify | \
	$(HONE) ge-cse | $(HONE) ge-prune | $(HONE) ge-fuse | $(HONE) ge-layout -o $@
%.g: %.passed
	@cmp -s $< $@ || { cp $< $@.part && mv $@.part $@; }

# An interrupt leaves the best so far for the knowledge base, not as a finished file: the next make goes on. A shell hears of a
# signal at once only while it waits for what is in the background.
%.tuned.g: %.g %.tuned.g.args
	s=; trap 's=130; kill $$p' INT; trap 's=143; kill $$p' TERM HUP; $(HONE) tune-op $(HONE_TUNE) $< -o $@.part & p=$$!; \
	wait $$p; r=$$?; [ -z "$$s" ] || { wait $$p; rm -f $@.part; exit $$s; }; \
	[ $$r = 0 ] && mv $@.part $@

%.so %.a %.h %.c %.weights: %.g %.so.args
	$(HONE) ge-plan $(hone_target) $< | $(HONE) ge-emit $(hone_target) $(HONE_EMIT) -o $*

.PHONY: hone-force
.PRECIOUS: %.g %.tuned.g %.passed %.g.args %.tuned.g.args %.so.args
