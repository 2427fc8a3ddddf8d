/* run-dev: runs and times compiled models, and serves tuners. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/filename.h"
#include "common/json.h"
#include "common/progress.h"
#include "common/option.h"
#include "common/shown.h"
#include "common/tool.h"
#include "runner/library.h"
#include "runner/runner.h"
#include "runner/service.h"
#include "target/rate.h"
#include "target/target.h"
#include "op/npy.h"
#include "op/op.h"
#include "run-dev.h"
#include "train.h"

static struct input_spec spec;
static bool bench, force, kernels, serve, probed;
static double seconds = 2, patience = 60;
static const char *weights, *target, *sets, *base, *peer_command, *profile;
static uint64_t cold_bytes;
static struct step_spec stepped;
static struct train_spec training = {.epochs = 1};
static int threads;

enum {
	OPT_AGAINST = 1000,
	OPT_BENCH,
	OPT_CHECKPOINT,
	OPT_COLD,
	OPT_EPOCHS,
	OPT_FORCE,
	OPT_JUDGE,
	OPT_KERNELS,
	OPT_LABELS,
	OPT_LOAD_STATE,
	OPT_LOSS,
	OPT_PEER,
	OPT_PEER_WAIT,
	OPT_PROBE,
	OPT_PROFILE,
	OPT_RANGE,
	OPT_SAVE_STATE,
	OPT_SECONDS,
	OPT_SEED,
	OPT_SERVE,
	OPT_SET,
	OPT_STEPS,
	OPT_OUTPUTS,
	OPT_TARGET,
	OPT_THREADS,
	OPT_TRAIN,
	OPT_VALIDATE,
	OPT_WEIGHTS
};

static VEC(const char *) wanted; /* outputs by name; none: all */

static error_t option(int key, char *arg)
{
	switch (key) {
	case 'i': vec_push(&spec.files, arg); return 0;
	case OPT_RANGE:
		option_name_once("--range", arg, '=');
		vec_push(&spec.ranges, arg);
		return 0;
	case OPT_SEED: spec.seed = option_count("--seed", arg, 0, UINT64_MAX); break;
	case OPT_AGAINST: base = arg; break;
	case OPT_BENCH: bench = true; break;
	case OPT_COLD: cold_bytes = option_count("--cold-weights", arg, 0, RUNNER_COLD_MAX >> 20) << 20; break;
	case OPT_FORCE: force = true; break;
	case OPT_KERNELS: kernels = true; break;
	case OPT_PEER: peer_command = arg; break;
	case OPT_PEER_WAIT: patience = option_number("--peer-wait", arg, 1e-3, INFINITY); break;
	case OPT_PROBE: probed = true; break;
	case OPT_PROFILE:
		profile = arg;
		kernels = true;
		break;
	case OPT_SERVE: serve = true; break;
	case OPT_SET:
		option_sizes_once("--set", arg);
		sets = sets ? sym_str(intern_printf("%s,%s", sets, arg)) : arg;
		return 0;
	case OPT_OUTPUTS:
		for (char *save, *name = strtok_r(arg, ",", &save); name; name = strtok_r(NULL, ",", &save))
			vec_push(&wanted, name);
		break;
	case OPT_STEPS: stepped.steps = (long)option_count("--steps", arg, 1, INT_MAX); break;
	case OPT_LOAD_STATE: stepped.load = arg; break;
	case OPT_SAVE_STATE: stepped.save = arg; break;
	case OPT_TARGET: target = arg; return 0;
	case OPT_SECONDS: seconds = training.seconds = option_number("--seconds", arg, 1e-6, INFINITY); break;
	case OPT_CHECKPOINT: training.checkpoint = arg; break;
	case OPT_EPOCHS: training.epochs = option_count("--epochs", arg, 1, UINT32_MAX); break;
	case OPT_JUDGE: training.judge = arg; break;
	case OPT_LABELS: training.labels = arg; break;
	case OPT_LOSS:
		if (!judge_knows(arg))
			die(EX_BADUSE, "--loss %s: there are ce, mse, bce, l1", arg);
		training.loss = arg;
		break;
	case OPT_TRAIN: training.data = arg; break;
	case OPT_VALIDATE: training.validate = option_number("--validate", arg, 0, 1); break;
	case OPT_THREADS: threads = (int)option_count("--threads", arg, 1, INT_MAX); break;
	case OPT_WEIGHTS: weights = arg; break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool is_wanted(const char *name)
{
	for (size_t i = 0; i < wanted.n; i++)
		if (!strcmp(wanted.a[i], name))
			return true;
	return !wanted.n;
}

/* Values within a model have no place of their own, or share it with others. */
static void check_wanted(const struct hone_model *m)
{
	for (size_t k = 0; k < wanted.n; k++) {
		bool found = false;
		for (int i = 0; i < m->num_outputs; i++)
			found |= !strcmp(m->outputs[i].name, wanted.a[k]);
		if (!found)
			die(EX_BADUSE,
			    "--outputs %s: the library has no such output; a value within the model is kept by hone build --outputs",
			    shown(wanted.a[k]));
	}
}

static void write_outputs(struct library *l, struct tensor **out, const char *path, struct arena *a)
{
	int n = 0;
	struct named_tensor *t = ARENA_ARRAY(a, struct named_tensor, l->model->num_outputs);

	for (int i = 0; i < l->model->num_outputs; i++)
		if (is_wanted(l->model->outputs[i].name))
			t[n++] = (struct named_tensor){arena_str(a, l->model->outputs[i].name), out[i]};

	if (filename_ends(path, ".npy")) {
		if (n != 1)
			die(EX_BADUSE, "-o %s: the model has %d outputs; they go into an .npz", path, n);
		npy_write(path, t[0].t);
		return;
	}
	npz_write(path, n, t);
}

/* The service for a target that this machine passes for. */
static int run_service(void)
{
	struct target t;

	if (target && !target_find(target, &t))
		die(EX_BADUSE, "--target=%s: %s", target, target_why_not(target));
	const char *lacks = target ? target_pass_for(&t) : NULL;
	if (lacks)
		die(EX_NOTAVAIL, "--target=%s: this machine lacks %s", target, lacks);
	return runner_serve(&task_oracle, 0, 0);
}

static bool is_channel(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode));
}

/* A step library, over samples. */
static int run_training(const struct tool_args *a)
{
	struct arena arena = {0};
	struct named_tensor *made;
	struct library l;

	if (a->nfile != 1 || bench || kernels || serve || target || stepped.steps || sets || base || spec.files.n)
		die(EX_BADUSE,
		    "--train goes with one library, and with --labels, --loss, --epochs, --seed, --judge, --validate, --checkpoint, "
		    "--seconds and -o");
	if (!training.labels || !training.loss)
		die(EX_BADUSE, "--train: %s", training.labels ? "--loss says what was made small" : "--labels has what is right");
	if (!training.judge != !(training.validate > 0))
		die(EX_BADUSE, "--judge goes with --validate");
	training.seed = spec.seed;
	library_open(&l, a->file[0], weights, threads);
	int n = train(&l, &training, &made, &arena);
	if (a->out)
		npz_write(a->out, n, made);
	library_close(&l);
	arena_release(&arena);
	return EX_GOOD;
}

/* Both run with their own weights, on one thread. */
static int run_against(const struct tool_args *a)
{
	static const double width = 0.03;
	struct against how = {.seconds = seconds, .width = width, .cold_bytes = cold_bytes, .seed = spec.seed};

	if (a->nfile != 1 || a->out || bench || kernels || serve || target || stepped.steps || weights || threads || sets)
		die(EX_BADUSE, "--against goes with one library, and with --cold-weights, --seconds, --seed, --range, -i and --json");
	if (target_is_emulated())
		die(EX_NOTAVAIL, "--against: this machine is emulated, and its times say nothing");
	against(a->file[0], base, &how, &spec, a->json);
	return EX_GOOD;
}

static int run_probe(const struct tool_args *a)
{
	if (a->nfile || a->out || bench || kernels || serve || target)
		tool_usage();
	probe(seconds, force, a->json);
	return EX_GOOD;
}

static const struct named_tensor *named(const struct hone_tensor *t, struct tensor *const *x, int n, struct arena *a)
{
	struct named_tensor *v = ARENA_ARRAY(a, struct named_tensor, n);

	for (int i = 0; i < n; i++)
		v[i] = (struct named_tensor){arena_str(a, t[i].name), x[i]};
	return v;
}

static void run_bench(struct library *l, struct tensor **in, struct tensor **out, double load, bool json, struct arena *a)
{
	const struct hone_model *m = l->model;
	struct beside o = {.load = load, .memory = most_memory()};
	struct other_turns turns = {peer_turn, NULL};

	if (peer_command)
		turns.arg = peer_begin(peer_command, patience, m->num_inputs, named(m->inputs, in, m->num_inputs, a));
	struct bench b = library_bench(l, in, out, seconds, kernels, peer_command ? &turns : NULL, a);
	if (peer_command) {
		o.peer = peer_name(turns.arg);
		o.times = peer_end(turns.arg, m->num_outputs, named(m->outputs, out, m->num_outputs, a), a);
	}
	if (profile)
		profile_write(profile, m, &b);
	if (json) {
		if (kernels)
			o.memory_rate = rate_measure(RATE_MEMORY, 0.1).best;
		print_json(m, &b, &o, kernels, a);
		return;
	}
	print_bench(m, &b, &o);
	if (kernels)
		print_kernels(m, &b, a);
}

/* Options that say nothing alone. */
static void check_company(void)
{
	if (force)
		tool_usage();
	if (cold_bytes && !base)
		die(EX_BADUSE, "--cold-weights: --against says what is timed");
	if (peer_command && !bench)
		die(EX_BADUSE, "--peer goes with --bench");
	if (!stepped.steps && !base && (stepped.load || stepped.save))
		die(EX_BADUSE, "%s: --steps says how many", stepped.load ? "--load-state" : "--save-state");
	if (training.labels || training.loss || training.judge || training.checkpoint)
		die(EX_BADUSE, "--%s: --train has the samples",
		    training.labels  ? "labels"
		    : training.loss  ? "loss"
		    : training.judge ? "judge"
				     : "checkpoint");
}

/* Options that say nothing together, of a library that is named. */
static void check_use(bool only_asks)
{
	if (stepped.steps && (bench || kernels))
		die(EX_BADUSE, "--steps goes with neither --bench nor --kernels");
	if (only_asks && (stepped.steps || spec.files.n || spec.ranges.n || sets || wanted.n))
		die(EX_BADUSE, "nothing to do: -o FILE.npz takes the outputs, --bench times");
	if ((bench || kernels) && target_is_emulated())
		die(EX_NOTAVAIL, "%s: this machine is emulated, and its times say nothing; -o FILE.npz takes the outputs",
		    bench ? "--bench" : "--kernels");
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	struct library l;

	if (probed)
		return run_probe(a);
	if (training.data)
		return run_training(a);
	check_company();
	if (base)
		return run_against(a);
	bool nothing = !a->nfile && !a->out && !bench && !kernels && !stepped.steps;
	/* As "ssh box run-dev" starts it a program is at both ends, and nothing else can be meant. */
	if (nothing && (serve || (is_channel(STDIN_FILENO) && is_channel(STDOUT_FILENO))))
		return run_service();
	if (serve || target || a->nfile != 1)
		tool_usage();
	stepped.sets = sets;
	bool only_asks = !a->out && !bench && !kernels && !stepped.save;
	check_use(only_asks);
	double load = now_seconds();
	library_open(&l, a->file[0], weights, threads);
	load = now_seconds() - load;
	check_wanted(l.model);
	if (stepped.steps) {
		struct tensor **out = steps_run(&l, &spec, &stepped, &arena);
		if (a->out)
			write_outputs(&l, out, a->out, &arena);
		library_close(&l);
		arena_release(&arena);
		return EX_GOOD;
	}
	if (only_asks) {
		if (a->json)
			die(EX_BADUSE, "--json goes with --bench and with --against");
		print_model(l.model);
		library_close(&l);
		return EX_GOOD;
	}
	struct module *m = library_module(&l);
	if (sets)
		bind_sets(m, sets);
	struct tensor **in = inputs_make(m, &spec, &arena);
	struct tensor **out = ARENA_ARRAY(&arena, struct tensor *, l.model->num_outputs);
	for (int i = 0; i < l.model->num_outputs; i++)
		out[i] = library_tensor(&l.model->outputs[i], &arena);
	library_run(&l, in, out, &arena);
	if (a->out)
		write_outputs(&l, out, a->out, &arena);
	if (bench || kernels)
		run_bench(&l, in, out, load, a->json, &arena);
	library_close(&l);
	arena_release(&arena);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"outputs", OPT_OUTPUTS, "NAME,...", 0, "-o: these outputs alone"},
	{"input", 'i', "NAME=FILE.npy", 0, "contents of an input, or an .npz with several; the others are random"},
	{"seed", OPT_SEED, "N", 0, "of the random inputs (default 0)"},
	{"range", OPT_RANGE, "NAME=LO:HI", 0, "range of a random input"},
	{"set", OPT_SET, "NAME=SIZE,...", 0, "sizes of random inputs, of a model that leaves them open"},
	{"steps", OPT_STEPS, "N", 0, "run it N times, with what it keeps; inputs and outputs have an axis of N in front"},
	{"load-state", OPT_LOAD_STATE, "FILE", 0, "--steps: what it keeps at first"},
	{"save-state", OPT_SAVE_STATE, "FILE", 0, "--steps: where what it keeps goes at the end"},
	{"train", OPT_TRAIN, "DATA.npy", 0, "train with these samples; the library is of ge-grad and ge-optim"},
	{"labels", OPT_LABELS, "FILE.npy", 0, "--train: what is right of each"},
	{"loss", OPT_LOSS, "NAME", 0, "--train: ge-grad's: ce, mse, bce or l1"},
	{"epochs", OPT_EPOCHS, "N", 0, "--train: how often all samples come (default 1)"},
	{"judge", OPT_JUDGE, "MODEL.so", 0, "--train: the model, with weights as inputs: the best are kept"},
	{"validate", OPT_VALIDATE, "PART", 0, "--judge: this part of the samples is held out"},
	{"checkpoint", OPT_CHECKPOINT, "FILE", 0, "--train: where it goes on from, and leaves what it has after each epoch"},
	{"threads", OPT_THREADS, "N", 0, "use at most N threads (default: as many as it was compiled for)"},
	{"weights", OPT_WEIGHTS, "FILE", 0, "the weights, where they are not beside the library"},
	{"bench", OPT_BENCH, 0, 0, "time it: min, median, p99, throughput, share of the peak of this core"},
	{"against", OPT_AGAINST, "BASE.so", 0, "time it against that library, in turns: which is faster, and by how much"},
	{"peer", OPT_PEER, "COMMAND", 0, "--bench: another program that computes the same, timed in turns"},
	{"peer-wait", OPT_PEER_WAIT, "S", 0, "--peer: how long it may take for an answer (default 60)"},
	{"cold-weights", OPT_COLD, "MB", 0, "--against: weights move between copies of so much in all"},
	{"seconds", OPT_SECONDS, "S", 0, "time for --bench, --against or --probe (default 2)"},
	{"kernels", OPT_KERNELS, 0, 0, "and each kernel's share"},
	{"profile", OPT_PROFILE, "FILE.json", 0, "each step of the timed runs, for ui.perfetto.dev; as with --kernels"},
	{"probe", OPT_PROBE, 0, 0, "measure the rates of this machine that choices need, and keep them"},
	{"force", OPT_FORCE, 0, 0, "--probe: keep what varies, or is far less than on record"},
	{"serve", OPT_SERVE, 0, 0, "build, check and time kernels for a tuner, on standard input and output"},
	{"target", OPT_TARGET, "NAME", 0, "--serve: pass for this target, without the rest of the features that this machine has: %s"},
	{0},
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "run-dev",
	.summary = "Run a compiled model, and time it.",
	.args_doc = "MODEL.so\n--serve\n--probe",
	.flags = TOOL_OUT | TOOL_JSON,
	.max_files = 1,
	.options = options,
	.option = option,
	.names = names,
	.run = run,
};
