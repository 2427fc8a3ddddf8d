/* The C functions of a model's kernels, and in which part of the C file each is compiled. */
#include <stdlib.h>
#include <string.h>
#include "model/forms.h"
#include "common/msg.h"
#include "op/native.h"
#include "op/op.h"

enum { PART_BYTES = 48 << 10 }; /* about so many bytes of text in a part: enough to keep a compiler busy, few enough to share the work */

/* Text that goes into some part. */
struct share {
	size_t bytes;
	int *part;
};

/* The largest text first, to the part that has least. The parts depend on the texts alone. */
static void deal_parts(struct functions *f)
{
	size_t nk = f->a.n + f->outlines.a.n, nf = nk + f->natives.n, total = 0;
	struct share *share = xcalloc(nf + 1, sizeof *share);

	for (size_t i = 0; i < f->outlines.a.n; i++)
		vec_push(&f->outline_part, 0);
	for (size_t i = 0; i < nf; i++) {
		size_t k = i - f->a.n;
		share[i] = i < f->a.n ? (struct share){strlen(f->a.a[i].text), &f->a.a[i].part}
			   : i < nk   ? (struct share){strlen(f->outlines.a.a[k].text), &f->outline_part.a[k]}
				      : (struct share){strlen(f->natives.a[i - nk].text), &f->natives.a[i - nk].part};
		total += share[i].bytes;
	}
	f->nparts = (int)(total / PART_BYTES) + 1;
	if ((size_t)f->nparts > nf)
		f->nparts = nf ? (int)nf : 1;
	size_t *load = xcalloc((size_t)f->nparts + 1, sizeof *load);
	for (size_t n = 0; n < nf; n++) {
		size_t best = SIZE_MAX;
		int part = 1;
		for (size_t i = 0; i < nf; i++)
			if (!*share[i].part && (best == SIZE_MAX || share[i].bytes > share[best].bytes))
				best = i;
		for (int k = 1; k <= f->nparts; k++)
			if (load[k] < load[part])
				part = k;
		*share[best].part = part;
		load[part] += share[best].bytes;
	}
	free(load);
	free(share);
}

static void count_calls(struct functions *f, struct model *M)
{
	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct call *x = &M->calls.a[c];
		if (!call_has_kernel(x))
			continue;
		struct function *of = &f->a.a[f->of_kernel[x->kernel]];
		if (!of->ncalls) {
			of->first = c;
			of->flops = node_flops(M->m, node(M->m, x->node)) / (double)x->images;
		}
		of->ncalls += (uint32_t)x->images;
	}
	for (uint32_t c = 0; c < M->calls.n; c++)
		for (const struct call *x = M->calls.a[c].version; x; x = x->version) {
			struct function *of = &f->a.a[f->of_kernel[x->kernel]];
			if (of->ncalls || of->flops)
				continue;
			of->first = c;
			of->flops = node_flops(M->m, node(M->m, x->node));
		}
}

static void add_native(struct functions *f, const char *file)
{
	for (size_t i = 0; i < f->natives.n; i++)
		if (!strcmp(f->natives.a[i].file, file))
			return;
	vec_push(&f->natives, (struct native_text){.file = file, .text = f->text_of(file)});
}

void functions_make(struct functions *f, struct model *M)
{
	f->threads = 1;
	forms_make(f, M);
	for (uint32_t k = 0; k < M->kernels.n; k++)
		if (emit_starts_team(M->kernels.a[k].prog)) {
			f->threads = M->threads;
			f->few |= M->kernels.a[k].prog->few;
		}
	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct call *x = call_native(&M->calls.a[c]);
		if (M->calls.a[c].lanes > 1 || (x && native_shares_out(node(M->m, x->alone))))
			f->threads = M->threads;
	}
	count_calls(f, M);
	for (uint32_t c = 0; c < M->calls.n; c++)
		if (call_native(&M->calls.a[c]) && node_native(node(M->m, call_native(&M->calls.a[c])->alone))->file)
			add_native(f, node_native(node(M->m, call_native(&M->calls.a[c])->alone))->file);
	deal_parts(f);
}
