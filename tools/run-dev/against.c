/* --against: two libraries in turns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/json.h"
#include "common/msg.h"
#include "common/shown.h"
#include "runner/against.h"
#include "runner/device_lock.h"
#include "run-dev.h"

/* Both take and give the same. */
static void check_alike(const struct library *l, const struct library *base, struct arena *a)
{
	const struct hone_model *x = l->model, *y = base->model;
	const char *why = NULL;

	if (x->num_inputs != y->num_inputs || x->num_outputs != y->num_outputs)
		die(EX_BADDATA, "%s: has not as many inputs and outputs as %s", l->path, base->path);
	for (int i = 0; i < y->num_inputs && !why; i++)
		why = library_check(&x->inputs[i], library_tensor(&y->inputs[i], a), a);
	for (int i = 0; i < y->num_outputs && !why; i++)
		why = library_check(&x->outputs[i], library_tensor(&y->outputs[i], a), a);
	if (why)
		die(EX_BADDATA, "%s: not the inputs and outputs of %s: %s", l->path, base->path, why);
}

static void print_measurement(const struct measurement *r, bool json)
{
	if (!json) {
		printf("%s: %.4f (%.4f to %.4f) of its time, %zu pairs\n", verdict_name(r->verdict), r->ratio, r->lo, r->hi, r->npairs);
		return;
	}
	printf("{\"verdict\":");
	json_str(stdout, verdict_name(r->verdict));
	printf(",\"ratio\":");
	json_num(stdout, r->ratio);
	printf(",\"lo\":");
	json_num(stdout, r->lo);
	printf(",\"hi\":");
	json_num(stdout, r->hi);
	printf(",\"seconds\":");
	json_num(stdout, r->seconds);
	printf(",\"samples\":\"");
	for (size_t i = 0; i < r->npairs; i++)
		printf("%s%" PRIu64 "/%" PRIu64, i ? " " : "", r->pair[i].candidate, r->pair[i].base);
	printf("\"}\n");
}

void against(const char *path, const char *base, const struct against *how, const struct input_spec *spec, bool json)
{
	struct library l[2];
	struct tensor **out[2];
	struct measurement r;
	struct arena a = {0};
	int lock;

	library_open(&l[AGAINST_BASE], base, NULL, 1);
	library_open(&l[AGAINST_LIBRARY], path, NULL, 1);
	check_alike(&l[AGAINST_LIBRARY], &l[AGAINST_BASE], &a);
	struct module *m = library_module(&l[AGAINST_BASE]);
	struct tensor **in = inputs_make(m, spec, &a);
	for (int k = 0; k < 2; k++) {
		out[k] = ARENA_ARRAY(&a, struct tensor *, l[k].model->num_outputs + 1);
		for (int i = 0; i < l[k].model->num_outputs; i++)
			out[k][i] = library_tensor(&l[k].model->outputs[i], &a);
	}
	char *path_of_lock = device_lock_path();
	const char *why = device_lock(path_of_lock, &lock, &a);
	if (why)
		die(EX_IO, "%s", why);
	library_against(l, in, (struct tensor *const *const[2]){out[0], out[1]}, how, &r, &a);
	close(lock);
	free(path_of_lock);
	print_measurement(&r, json);
	module_free(m);
	library_close(&l[0]);
	library_close(&l[1]);
	arena_release(&a);
}
