/* Inside the service. Private to lib/runner. */
#ifndef HONE_SERVE_IMPL_H
#define HONE_SERVE_IMPL_H
#include <sys/types.h>
#include "runner/wire.h"
#include "runner/service.h"
#include "runner/toolchain.h"
#include "runner/try.h"
#include "runner/compile_server.h"

enum { CORES_MAX = 256, BUILD_SECONDS = 60, BUILD_CLOCK_SECONDS = 300, COLD_FILES_MAX = 8 };
enum {
	TASK_TIMES =
		10 /* as long as a build's step a task or its constants may take: the right results of a large one are minutes of work */
};

struct serve_constants { /* of a task's kernels by one algorithm */
	char *algo;      /* "": the usual */
	int fd;
	const struct problem *head;
};
struct serve_task {
	struct digest digest;
	char *text;
	int problem; /* file */
	const struct problem *head;
	const struct oracle_task *task;
	VEC(struct serve_constants) constants;
};
struct serve_artifact {
	struct digest digest;
	struct digest task;
	struct artifact a;
	double seconds; /* it took to build */
	uint64_t used;  /* when last, by s->uses */
	struct arena arena;
};

struct serve_cold {
	struct digest digest; /* cold_digest */
	int fd;
	uint64_t used; /* when last, by s->uses */
};

struct job; /* job.h */
struct job_kind;
struct service {
	const struct oracle *oracle;
	struct frames in;
	uint64_t taken; /* bytes of whole frames so far, for messages */
	struct mp_out out;
	bool greeted, ended;
	char *dir, *lock;
	int ncores, core[CORES_MAX];
	int janitor;                  /* pipe that its end closes */
	int quiesce[2];               /* pipe from the tries, see try.h */
	int noise_probe;              /* see try.h */
	double build_seconds;         /* that a step of a build may take on the clock */
	struct compile_server server; /* toolchain, from the second build on */
	int rules;                    /* of what it may open: confine_open */
	uint64_t builds;              /* begun */
	double quiesce_failed;        /* when it was last told that to stand still does not help */
	VEC(struct job *) jobs;       /* in order of arrival */
	VEC(struct serve_task *) tasks;
	VEC(struct serve_artifact *) artifacts;
	VEC(struct serve_cold) cold_files; /* COLD_FILES_MAX, those used last */
	uint64_t uses;
};
/* jobs.c: a request from the wire, which becomes a job or has its answer. */
void jobs_take(struct service *s, const struct job_kind *kind, uint64_t id, struct mp_in *r);
/* Starts what may run now; takes in what has ended. Ends all. */
void jobs_start(struct service *s);
double jobs_wait(const struct service *s); /* seconds until more may start by itself; INFINITY: nothing */
void jobs_reap(struct service *s);
void jobs_quiesce(struct service *s); /* takes in which try needs silence */
void jobs_kill(struct service *s);
/* artifacts.c */
struct serve_task *serve_find_task(struct service *s, struct digest d);
struct serve_artifact *serve_find_artifact(struct service *s, struct digest d); /* and notes the use */
/* Makes room for it, and keeps it. */
void serve_keep_artifact(struct service *s, struct serve_artifact *x);
/* Files for the constants in turn of candidate and base: of each its own, or one for both (cold_join). False: errno. */
bool serve_open_cold(struct service *s, struct cold_weights sets[2], struct digest task, uint64_t bytes,
		     const struct artifact *const of[2]);
const struct serve_constants *serve_find_constants(const struct serve_task *t, const char *algo);
/* service.c: answers. */
void serve_error(struct service *s, uint64_t id, const char *verb, const char *why); /* "error" or "failed" */
void serve_task_done(struct service *s, uint64_t id, struct digest d);
void serve_build_done(struct service *s, uint64_t id, const struct serve_artifact *x);
#endif
