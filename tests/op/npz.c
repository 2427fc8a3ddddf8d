/* Archives of arrays: what is written is read back; what the format has no room for is refused before anything is written. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "op/npy.h"
#include "op/op.h"
#include "tap.h"

static struct tensor *string(int64_t n, const char *bytes, size_t size, struct arena *a)
{
	struct tensor *t = tensor_new(a, DT_STR, 1, &n);

	t->data = bytes;
	t->nbytes = size;
	return t;
}

static bool same_bytes(const struct tensor *a, const struct tensor *b)
{
	return a->dtype == b->dtype && a->nbytes == b->nbytes && !memcmp(a->data, b->data, a->nbytes);
}

static bool says(int n, const struct named_tensor *t, const char *what)
{
	struct msg_trap trap;

	if (setjmp(trap.at))
		return strstr(trap.why, what);
	msg_trap = &trap;
	npz_write("y.npz", n, t);
	msg_trap = NULL;
	return false;
}

static bool refused(int n, const struct named_tensor *t)
{
	struct msg_trap trap;

	if (setjmp(trap.at))
		return strstr(trap.why, "4 GiB") && access("y.npz", F_OK);
	msg_trap = &trap;
	npz_write("y.npz", n, t);
	msg_trap = NULL;
	return false;
}

int main(void)
{
	static const float three[] = {1, -2, 3};
	int64_t quarter[] = {1 << 28, 2}, some[] = {3};                      /* 2 GiB */
	struct tensor large = {.dtype = DT_F32, .rank = 2, .dims = quarter}, /* whose data nobody looks at */
		small = {.dtype = DT_F32, .rank = 1, .dims = some, .data = three, .nbytes = sizeof three};
	struct named_tensor t[] = {{"a", &large}, {"b", &small}, {"c", &large}}, *back;
	struct arena a = {0};

	ok(refused(3, t), "two arrays of 2 GiB do not fit, though each begins where 32 bits reach");
	struct named_tensor *many = xcalloc(1 << 16, sizeof *many);
	for (int i = 0; i < 1 << 16; i++)
		many[i] = (struct named_tensor){"same", &small};
	ok(refused(1 << 16, many), "nor do 65536 arrays");
	npz_write("y.npz", 1, t + 1);
	ok(npz_read("y.npz", &a, &back) == 1 && !strcmp(back->name, "b") && back->t->nbytes == sizeof three &&
		   !memcmp(back->t->data, three, sizeof three),
	   "a small one is read back");
	t[0].t = &small, t[2].name = "b", t[2].t = &small;
	npz_write("y.npz", 3, t);
	struct msg_trap trap;
	bool read = false;
	msg_trap = &trap;
	if (!setjmp(trap.at))
		read = npz_read("y.npz", &a, &back) > 0;
	msg_trap = NULL;
	ok(!read && strstr(trap.why, "member b is there twice"), "a member that is there twice is refused");
	static const char words[] = "\1\0\0\0a\0\0\0\0\3\0\0\0\303\244b", bytes[] = "\2\0\0\0\377\1", zero[] = "\2\0\0\0a";
	t[0].t = string(3, words, sizeof words - 1, &a);
	t[1].t = string(1, bytes, sizeof bytes - 1, &a);
	npz_write("y.npz", 2, t);
	ok(npz_read("y.npz", &a, &back) == 2 && same_bytes(back[0].t, t[0].t) && same_bytes(back[1].t, t[1].t),
	   "strings are read back, those that are no UTF-8 too");
	t[0].t = string(1, zero, sizeof zero, &a);
	ok(says(1, t, "ends in a zero"), "a string that ends in a zero is refused");
	struct tensor *none = tensor_wrap(&a, KIND_OPTIONAL, DT_F32, 0, NULL), *item[] = {&small, none};
	t[0].t = tensor_wrap(&a, KIND_SEQUENCE, DT_F32, 2, item);
	t[1].t = tensor_wrap(&a, KIND_SEQUENCE, DT_F32, 0, NULL);
	npz_write("y.npz", 2, t);
	ok(npz_read("y.npz", &a, &back) == 3 && !strcmp(back[0].name, "a[0]") && !strcmp(back[1].name, "a[1]?") &&
		   !strcmp(back[2].name, "b[]"),
	   "sequences and optionals are arrays");
	arena_release(&a);
	free(many);
	return tap_done();
}
