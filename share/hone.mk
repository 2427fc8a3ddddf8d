# Make rules for models:  include PREFIX/share/hone/hone.mk  (or share/hone.mk of the source tree)
#
#   %.g from %.onnx            the optimised graph, ready for ge-plan: that of hone build
#   %.tuned.g from %.g         the same with schedules searched for on this machine (tune-op); stopped, make goes on
#   %.so %.a %.h %.c %.weights from %.g   the library; one command makes all five. net.tuned.so is made of net.tuned.g
#
# Variables, for all models or for one (net.g: HONE_SET = batch=1,seq=128):
#   HONE_SET      sizes of symbols, as --set takes them
#   HONE_SHAPE    shapes of inputs, as --shape takes them; several are divided by blanks
#   HONE_PASSES   options for hone passes (net.so: HONE_PASSES = --threads 4)
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

# As one word of a shell, whatever is in it.
hone_quote = '$(subst ','\'',$(1))'

hone_sizes = $(foreach s,$(HONE_SET),--set $(call hone_quote,$(s))) $(foreach s,$(HONE_SHAPE),--shape $(call hone_quote,$(s)))

hone_target = $(if $(HONE_TARGET),--target $(call hone_quote,$(HONE_TARGET)))

# The variables a file was made with, rewritten only when they differ.
hone_args = args=$$($(HONE) --version)' '$(call hone_quote,$(1)); printf '%s\n' "$$args" | cmp -s - $(call hone_quote,$@) || \
	{ mkdir -p $(call hone_quote,$(@D)) && printf '%s\n' "$$args" >$(call hone_quote,$@); }
%.g.args: hone-force
	@$(call hone_args,$(hone_sizes) $(hone_target) $(HONE_PASSES))
%.tuned.g.args: hone-force
	@$(call hone_args,$(HONE_TUNE))
%.so.args: hone-force
	@$(call hone_args,$(hone_target) $(HONE_PASSES) $(HONE_EMIT))

%.passed: %.onnx %.g.args
	$(HONE) passes --until layout $(hone_sizes) $(hone_target) $(HONE_PASSES) -o $(call hone_quote,$@) -- $(call hone_quote,$<)
%.g: %.passed
	@cmp -s $(call hone_quote,$<) $(call hone_quote,$@) || { cp $(call hone_quote,$<) $(call hone_quote,$@.part) && \
	mv $(call hone_quote,$@.part) $(call hone_quote,$@); }

# An interrupt leaves the best so far for the knowledge base, not as a finished file: the next make goes on. A shell hears of a
# signal at once only while it waits for what is in the background.
%.tuned.g: %.g %.tuned.g.args
	s=; part=$(call hone_quote,$@.part); trap 's=130; kill $$p' INT; trap 's=143; kill $$p' TERM HUP; \
	$(HONE) tune-op $(HONE_TUNE) -o "$$part" -- $(call hone_quote,$<) & p=$$!; \
	wait $$p; r=$$?; [ -z "$$s" ] || { wait $$p; rm -f "$$part"; exit $$s; }; \
	[ $$r = 0 ] && mv "$$part" $(call hone_quote,$@)

%.so %.a %.h %.c %.weights: %.g %.so.args
	$(HONE) passes --from plan $(hone_target) $(HONE_PASSES) -- $(call hone_quote,$<) | \
	$(HONE) ge-emit $(hone_target) $(HONE_EMIT) -o $(call hone_quote,$*)

.PHONY: hone-force
.PRECIOUS: %.g %.tuned.g %.passed %.g.args %.tuned.g.args %.so.args
