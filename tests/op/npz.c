/* Archives of arrays: what is written is read back; what the format has no room for is refused before anything is written. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "op/npy.h"
#include "tap.h"

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
	arena_release(&a);
	free(many);
	return tap_done();
}
