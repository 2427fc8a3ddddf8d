# Libraries for several threads: the numbers of one thread, fewer threads on demand, no thread left behind.
. "$top/tests/lib.sh"

# Convolutions with borders, a product with a panel that each thread packs, softmax rows, a normalisation, a lookup.
ge-load >big.g <<'END'
hone-text 1
module ir=8 opset=17
graph main {
  input x: f32[1,48,29,31]
  input w1: f32[40,48,3,3]
  input w2: f32[40,1,3,3]
  input q: f32[7,67,33]
  input k: f32[7,33,67]
  input table: f32[500,129]
  input ids: i64[700]
  c = Conv(x, w1) {pads=[1,1,1,1]}
  d = Relu(c)
  e = Conv(d, w2) {pads=[1,1,1,1] group=40}
  f = MaxPool(e) {kernel_shape=[3,3] strides=[2,2]}
  s = MatMul(q, k)
  p = Softmax(s) {axis=-1}
  m = MatMul(p, s)
  g = Gather(table, ids) {axis=0}
  output f = f
  output m = m
  output g = g
}
END
hone passes -q --until layout big.g -o fused.g
for n in 1 2 5; do ge-plan -q --threads $n fused.g -o planned$n.g; done
ge-emit planned1.g -o one && ge-emit planned2.g -o two && ge-emit planned5.g -o five && [ -s one.so ] && [ -s two.so ] && [ -s five.so ]
ok $? "libraries for 1, 2 and 5 threads"
! grep -q '+ thread \*' two.c && grep -q '+ (long)thread \*' two.c
ok $? "what a thread has of its own may lie beyond 2^31 bytes"
! grep -q 'pthread\|team' one.c && [ "$(grep -c 'team_run(team' two.c)" -ge 5 ]
ok $? "one thread has no workers; two have teams: $(grep -c 'team_run(team' two.c)"
run-dev --range ids=0:499 one.so -o 1.npz
for lib in two five; do
	bad=0
	for i in 1 2 3; do run-dev --range ids=0:499 $lib.so -o n.npz && equal --tol 0 n.npz 1.npz || bad=1; done
	ok $bad "$lib: the numbers of one thread, bit for bit"
done
for n in 1 2 3 9; do
	HONE_THREADS=$n run-dev --range ids=0:499 five.so -o n.npz && equal --tol 0 n.npz 1.npz
	ok $? "HONE_THREADS=$n"
done
run-dev --threads 3 --range ids=0:499 five.so -o n.npz && equal --tol 0 n.npz 1.npz
ok $? "run-dev --threads"
# A plan gives some kernels fewer threads.
ge-fuse --undo fused.g | ge-fuse --write-plan all.plan -o /dev/null
awk '/^group/ { $0 = "threads " (++n % 2 ? 1 : 3) " " $0 } { print }' all.plan >few.plan
ge-fuse --undo fused.g | ge-fuse --plan few.plan --write-plan again.plan | ge-layout | ge-plan -q --threads 5 -o few.g && cmp few.plan again.plan && ge-emit few.g -o few &&
	grep -q 'team_run_few(3, team' few.c && ! grep -q 'team_run(team\|team_run_few([^3i]' few.c && ! grep -q team_run_few five.c
ok $? "a plan's number of threads"
bad=0
for n in 1 2 4 5; do HONE_THREADS=$n run-dev --range ids=0:499 few.so -o n.npz && equal --tol 0 n.npz 1.npz || bad=1; done
ok $bad "the same numbers, by a team of 1, 2, 4 and 5"
ge-plan -q --threads 2 few.g | ge-emit -o fewer && ! grep -q team_run_few fewer.c && equal --tol 0 fewer.so one.so
ok $? "not fewer than the library has"
HONE_THREADS=two run-dev --range ids=0:499 two.so -o n.npz 2>err
[ $? = 64 ] && grep -q 'HONE_THREADS.*not a number' err
ok $? "HONE_THREADS that is no number: 64"
run-dev --range ids=400:600 two.so -o n.npz 2>err
[ $? = 65 ] && grep -q 'out of range' err
ok $? "an index out of range, seen by a worker or not: 65"
ge-emit --threads 3 planned1.g -o more && run-dev --range ids=0:499 more.so -o n.npz && equal --tol 0 n.npz 1.npz
ok $? "more threads than planned for: workspaces grow"
ge-emit planned5.g --print-traces >traces && grep -q '^parallel' traces && ge-emit --threads 1 --trace traces planned1.g -o serial &&
	run-dev --range ids=0:499 serial.so -o n.npz && equal --tol 0 n.npz 1.npz && ! grep -q pthread serial.c
ok $? "a trace for threads serves one, too"
grep -v '^parallel' traces >serial.traces && ge-emit planned5.g --trace serial.traces --print-traces | cmp - traces
ok $? "a trace for one thread gets the lines for several, and they are printed"
ge-plan --threads 0 fused.g >/dev/null 2>err
[ $? = 64 ] && grep -q 'threads' err
ok $? "--threads 0: 64"
# A product of 32 rows is a few thousand cycles, less than a team's start is worth.
{ printf 'hone-text 1\nmodule ir=8 opset=21\ngraph main {\n  input x: f32[32,32]\n  input w: f32[32,32]\n'
	printf '  y = MatMul(x, w)\n  z = Relu(y)\n  output z = z\n}\n'; } | ge-load | ge-shape | ge-fuse | ge-plan -q --threads 2 --target=x86-64-v4 |
	ge-emit --no-compile --target=x86-64-v4 -o small 2>/dev/null && [ -s small.c ] && ! grep -q pthread small.c
ok $? "a small product is not worth a thread"

# From C: handles that come and go, several at a time.
cat >main.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dirent.h>
#include "two.h"
static int count_threads(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}
static const void *in[8];
static size_t total;
static void run(two *m, char *result)
{
	void *out[8];
	for (int i = 0; i < two_num_outputs(); i++)
		out[i] = result, result += two_output_bytes(i);
	if (two_run(m, in, out))
		exit(puts(two_error()));
}
static void *job(void *result)
{
	two *m = two_open("two.weights", NULL);
	for (int i = 0; m && i < 20; i++)
		run(m, result);
	two_close(m);
	return m ? result : NULL;
}
static void *nothing(void *x) { return x; }
/* The kernel is not done at once with a thread that has been joined. */
static int count_settled(void)
{
	int n = count_threads();
	for (int same = 0; same < 20; same++) {
		usleep(1000);
		int now = count_threads();
		same = now == n ? same : 0;
		n = now;
	}
	return n;
}
/* A child goes on with its parent's handle, closes it, and has one of its own; the parent's still works. */
static int forked(const char *first, char *result)
{
	two *m = two_open("two.weights", NULL);
	int status;
	run(m, result);
	for (int i = 0; i < 8; i++) {
		if (i % 2)
			usleep(2000); /* the worker sleeps */
		pid_t child = fork();
		if (child == 0) {
			alarm(20);
			memset(result, 0, total);
			if (i < 4)
				run(m, result);
			two_close(m);
			two_close(m); /* is left alone */
			if (i < 4 && memcmp(result, first, total))
				_exit(3);
			m = two_open("two.weights", NULL);
			if (!m || count_threads() != 2)
				_exit(4);
			run(m, result);
			two_close(m);
			_exit(memcmp(result, first, total) != 0);
		}
		waitpid(child, &status, 0);
		if (status)
			return printf("a child: %x\n", status);
	}
	memset(result, 0, total);
	run(m, result);
	two_close(m);
	return memcmp(result, first, total) ? puts("the parent") : 0;
}
/* One handle in the hands of all: a call beside another fails and changes nothing, a close waits for the call that is in it, and after it
 * there is no handle. *ran: how many calls came to their end while it was closed. */
static two *common;
static int good, refused, closed;
static void *intruder(void *result)
{
	void *out[8];
	char *p = result;
	for (int i = 0; i < two_num_outputs(); i++)
		out[i] = p, p += two_output_bytes(i);
	while (!__atomic_load_n(&closed, __ATOMIC_ACQUIRE))
		if (!two_run(common, in, out))
			__atomic_add_fetch(&good, 1, __ATOMIC_RELAXED);
		else if (strstr(two_error(), "handle: another call is in it"))
			__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED), usleep(100);
		else
			abort();
	return result;
}
static int shared(char **result, const char *first, int *ran)
{
	pthread_t t[3];
	int status;
	good = refused = closed = 0;
	common = two_open("two.weights", NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, intruder, result[i]);
	while (__atomic_load_n(&good, __ATOMIC_RELAXED) < 4 || !__atomic_load_n(&refused, __ATOMIC_RELAXED))
		usleep(1000);
	for (int i = 0; i < 5; i++) { /* a child has none of the threads: whoever was in the handle never leaves it there */
		pid_t child = fork();
		if (child == 0) {
			alarm(20);
			two_close(common);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (status)
			return printf("a child: %x\n", status);
	}
	int before = __atomic_load_n(&good, __ATOMIC_RELAXED);
	two_close(common);
	int then = __atomic_load_n(&good, __ATOMIC_RELAXED);
	*ran = then - before;
	usleep(10000);
	int now = __atomic_load_n(&good, __ATOMIC_RELAXED);
	__atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 3; i++)
		if (memcmp(result[i], first, total))
			return puts("another result");
	return now > then + 3 || two_run(common, in, NULL) != -1 || two_run(NULL, in, NULL) != -1 || two_verify(common) != -1;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < two_num_inputs(); i++) {
		float *p = calloc(1, two_input_bytes(i) + 8);
		for (size_t k = 0; !strcmp(two_input_type(i), "f32") && k < two_input_bytes(i) / 4; k++)
			p[k] = (float)(k % 23) / 23 - 0.4f;
		in[i] = p;
	}
	for (int i = 0; i < two_num_outputs(); i++)
		total += two_output_bytes(i);
	pthread_t t[3];
	pthread_create(&t[0], NULL, nothing, NULL); /* a sanitizer starts a thread of its own with the first */
	pthread_join(t[0], NULL);
	char *first = calloc(1, total + 64), *result[3];
	int before = count_settled(), one, both;
	for (int i = 0; i < 3; i++) {
		two *m = two_open("two.weights", NULL);
		both = count_settled();
		run(m, first);
		two_close(m);
	}
	if (argc > 2) {
		for (int i = 0; i < 3; i++)
			memcpy(result[i] = calloc(1, total + 64), first, total);
		alarm(60);
		int ran, least = 1 << 30;
		for (int i = 0; i < 5; i++, least = ran < least ? ran : least)
			if (shared(result, first, &ran))
				return 1;
		return least > 4 ? printf("a close waited for %d calls\n", least) : 0;
	}
	if (argc > 1)
		return forked(first, calloc(1, total + 64)) != 0;
	two *m = two_open("two.weights", &(struct hone_opts){.threads = 1});
	one = count_settled();
	two_close(m);
	if (one != before || both != before + 1)
		return printf("%d %d %d\n", before, one, both);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, job, result[i] = calloc(1, total + 64));
	for (int i = 0; i < 3; i++) {
		void *done;
		pthread_join(t[i], &done);
		if (!done || memcmp(result[i], first, total))
			return puts("another result");
	}
	for (int wait = 0; count_threads() != before; wait++) /* the kernel is not done at once */
		if (wait > 1000 || usleep(1000))
			return printf("%d threads left\n", count_threads());
	return 0;
}
END
${CC:-cc} -O1 main.c two.a -o main -lm -pthread && ./main
ok $? "three handles come and go, three at once: the same numbers, no thread left"
./main fork
ok $? "children of fork run, close and open again"
./main one handle
ok $? "one handle in three threads: one runs, the others are refused; it is closed in the middle, here and in children; no other call enters before"
flags=$(sed -n 's/.*Compile with: //p' two.c | head -1)
if cc $flags -g -fsanitize=thread -w main.c two.c -o tsan -lm -pthread 2>err; then
	TSAN_OPTIONS=exitcode=3 ./tsan >err 2>&1
	code=$?
	if grep -q 'FATAL: ThreadSanitizer' err; then
		skip "no data race" "the thread sanitizer does not run here"
	else
		ok $code "no data race, says the thread sanitizer"
	fi
else
	skip "no data race" "the compiler has no thread sanitizer"
fi
done_testing
