/* An order of nodes in which names are defined before they are used. */
#include <stdlib.h>
#include <string.h>
#include "onnx/import.h"

struct sorter {
	struct importer *c;
	uint32_t *def; /* by symbol: node that defines it + 1 */
	size_t nsyms;
	uint32_t node;      /* whose uses are being listed */
	VEC(uint32_t) uses; /* nodes that `node` needs, repeats allowed */
};

static void use(struct sorter *s, const ProtobufCBinaryData *name)
{
	sym y = import_name(name);
	if (y && y < s->nsyms && s->def[y] && s->def[y] - 1 != s->node)
		vec_push(&s->uses, s->def[y] - 1);
}

/* Names used by n and in its bodies (those defined in a body as well: harmless). */
static void list_uses(struct sorter *s, const Onnx__NodeProto *n);

static void list_body(struct sorter *s, const Onnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_node; i++)
		list_uses(s, g->node[i]);
	for (size_t i = 0; i < g->n_output; i++)
		use(s, &g->output[i]->name);
}

static void list_uses(struct sorter *s, const Onnx__NodeProto *n)
{
	for (size_t i = 0; i < n->n_input; i++)
		use(s, &n->input[i]);
	for (size_t i = 0; i < n->n_attribute; i++) {
		const Onnx__AttributeProto *a = n->attribute[i];
		if (a->g)
			list_body(s, a->g);
		for (size_t k = 0; k < a->n_graphs; k++)
			list_body(s, a->graphs[k]);
	}
}

static void heap_push(uint32_t *h, size_t *n, uint32_t x)
{
	size_t i = (*n)++;
	for (; i && h[(i - 1) / 2] > x; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = x;
}

static uint32_t heap_pop(uint32_t *h, size_t *n)
{
	uint32_t top = h[0], x = h[--*n];
	size_t i = 0;
	for (size_t k; (k = 2 * i + 1) < *n; i = k) {
		if (k + 1 < *n && h[k + 1] < h[k])
			k++;
		if (h[k] >= x)
			break;
		h[i] = h[k];
	}
	h[i] = x;
	return top;
}

/* Kahn 1962; of the nodes that are ready, the one that stood first. */
static uint32_t *sorted(struct sorter *s, size_t n, Onnx__NodeProto **nodes, const uint32_t *start)
{
	uint32_t *order = xmalloc(n * sizeof *order), *heap = xmalloc(n * sizeof *heap);
	uint32_t *wait = xcalloc(n, sizeof *wait), *first = xcalloc(n + 1, sizeof *first), *user;
	size_t heaped = 0, done = 0;
	for (size_t i = 0; i < s->uses.n; i++)
		first[s->uses.a[i]]++;
	for (size_t i = 0, sum = 0; i <= n; i++)
		first[i] = (uint32_t)(sum += first[i]);
	user = xmalloc((s->uses.n + 1) * sizeof *user);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = start[i]; k < start[i + 1]; k++, wait[i]++)
			user[--first[s->uses.a[k]]] = (uint32_t)i;
	for (size_t i = 0; i < n; i++)
		if (!wait[i])
			heap_push(heap, &heaped, (uint32_t)i);
	while (heaped) {
		uint32_t i = heap_pop(heap, &heaped);
		order[done++] = i;
		for (uint32_t k = first[i]; k < first[i + 1]; k++)
			if (!--wait[user[k]])
				heap_push(heap, &heaped, user[k]);
	}
	if (done < n) {
		size_t at = 0;
		while (!wait[at])
			at++;
		s->c->at = nodes[at];
		import_die(s->c, "the graph has a cycle, through or before this node");
	}
	free(heap);
	free(wait);
	free(first);
	free(user);
	return order;
}

/* A name that two have is said before any cycle that it seems to close. */
static void define(struct sorter *s, sym name, const Onnx__NodeProto *n, uint32_t i)
{
	val_id v;
	if (s->def[name] || scope_defined_here(s->c, name, &v)) {
		s->c->at = n;
		import_die(s->c, "'%s' is defined twice", sym_str(name));
	}
	s->def[name] = i + 1;
}

uint32_t *import_order(struct importer *c, size_t n, Onnx__NodeProto **nodes)
{
	struct sorter s = {.c = c};
	uint32_t *start, *order = NULL;
	bool sound = true;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < nodes[i]->n_output; k++) {
			sym y = import_name(&nodes[i]->output[k]);
			if (y >= s.nsyms) {
				size_t want = 2 * (size_t)y + 64;
				s.def = xrealloc(s.def, want * sizeof *s.def);
				memset(s.def + s.nsyms, 0, (want - s.nsyms) * sizeof *s.def);
				s.nsyms = want;
			}
			if (y)
				define(&s, y, nodes[i], (uint32_t)i);
		}
	start = xmalloc((n + 1) * sizeof *start);
	for (size_t i = 0; i < n; i++) {
		start[i] = (uint32_t)s.uses.n;
		s.node = (uint32_t)i;
		list_uses(&s, nodes[i]);
		for (size_t k = start[i]; k < s.uses.n; k++)
			sound &= s.uses.a[k] < i;
	}
	start[n] = (uint32_t)s.uses.n;
	if (!sound)
		order = sorted(&s, n, nodes, start);
	free(start);
	free(s.def);
	vec_free(&s.uses);
	return order;
}
