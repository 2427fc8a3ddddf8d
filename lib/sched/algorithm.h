/* Choice among the algorithms of a node. The lowering says what each one that fits has to do, before there are loops; here it is counted how
 * long that takes. */
#ifndef HONE_ALGORITHM_H
#define HONE_ALGORITHM_H
#include "target/target.h"

enum algorithm_kind {
	ALGORITHM_SUMS, /* the sums as the operator has them: one of these is taken if no other algorithm is better */
	ALGORITHM_COPY, /* the same sums of a copy: taken where it takes less time */
	ALGORITHM_OTHER /* other sums, which take more memory or round more: taken where they are faster by a margin */
};

/* Zero: there is no such work. */
struct algorithm {
	const char *name;
	enum algorithm_kind kind;
	double multiply_adds, steps; /* of all sums, and of each one */
	double speed;                /* of its multiply-adds, as a multiple of those of f32; must not be 0 if there are any */
	double constants;            /* bytes, read once a run */
	double transforms, side;     /* vectors of square tiles that are transformed, elements a side of one */
	double waiting;              /* bytes that wait between stages and are read from there */
	double kept;                 /* elements of 4 bytes that are written on the way and read back */
	double spared;               /* elements of a copy that ALGORITHM_SUMS makes and this one does not */
	double converted;            /* elements that become f32 where they are read */
};

/* The best of n algorithms, one of ALGORITHM_SUMS among them. Of these it is the first whose multiply-adds are faster than those of f32, or
 * else the last. t NULL: nothing is known of the machine. */
const struct algorithm *algorithm_best(const struct target *t, const struct algorithm *list, int n);
/* Does it pay to widen constants of 16 bits when the library is built, if each is an operand of so many products? t NULL: the host. */
bool algorithm_widens_constants(const struct target *t, double products);
/* Products that an instruction (loop/instr.h) whose rate was measured makes in the time of one multiply-add of f32. */
double algorithm_speed(const struct target *t, int row);
/* Is a product of so many multiply-adds better of copies of both operands (a, b: elements of each) in a type that it multiplies faster? */
bool algorithm_copies_both(double products, double a, double b);
/* Are the accesses of two stages so many fewer than those of one that does the work of both? */
bool algorithm_in_two(double one, double two);
/* Where weights of few bits are widened, of a product of so many rows. */
enum widening {
	WIDEN_WHERE_READ, /* for each row: it is bound by the bytes of the codes */
	WIDEN_PANEL       /* a panel once, for all rows */
};
enum widening algorithm_widening(int64_t rows);
/* Are rows better made digits (lower/packed.h), of a product of so many rows and columns? summed: products that an instruction sums, for each
 * digit of a number. */
bool algorithm_digits(int64_t rows, int64_t columns, double summed);
#endif
