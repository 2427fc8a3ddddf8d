/* Demand: its first operand, if each element of the second holds. */
#include "native/native.h"

NATIVE const char *native_Demand(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *ok = &n->in[1];
	const char *holds = ok->data;
	void *y;

	if (!native_size(x->type) || ok->type != NATIVE_BOOL)
		return native_no_type();
	for (int64_t i = 0; i < native_count(ok); i++)
		if (!holds[i])
			return native_why(n, "%.200s", native_str(n, "why"));
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)))
		return native_no_room(n);
	memcpy(y, x->data, (size_t)native_count(x) * native_size(x->type));
	return NULL;
}
