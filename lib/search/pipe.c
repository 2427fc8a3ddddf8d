/* A strategy that is a program of its own, in any language: one process a task, lines of text both ways. tune-op(1) has the protocol. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "search/strategy.h"

enum {
	ANSWER_SECONDS = 60,
	VAIN_MAX = 10000, /* tries in a turn that lead to nothing new */
	WORDS_MAX = 1000
};

struct piped {
	struct strategy row; /* the first: a strategy of this file is such a struct */
	const char *command;
};

struct process {
	const char *command;
	pid_t pid;
	int fd;
	FILE *in;
	char *line;
	size_t size;
};

static void say(struct process *p, const char *text)
{
	for (size_t n = strlen(text); n;) {
		ssize_t k = send(p->fd, text, n, MSG_NOSIGNAL);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return; /* reading from it says why */
		text += k;
		n -= (size_t)k;
	}
}

/* "point NUMBER ORIGIN RATIO NAME=DECISION:CHOICE,CHOICE ...", the ratio "-" where it is not known yet. */
static void say_point(struct process *to, const struct point *p)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	fprintf(f, "point %zu %d ", p->number, p->origin);
	fprintf(f, p->measured > 0 ? "%.6g" : "-", p->measured);
	for (size_t i = 0; i < p->at.n; i++) {
		const struct sample *x = &p->at.a[i];
		fprintf(f, " %s=", x->name);
		if (x->word)
			fprintf(f, "%s", x->word[x->decision]);
		else
			fprintf(f, "%lld", (long long)x->decision);
		for (int k = 0; k < x->n; k++) {
			fprintf(f, k ? "," : ":");
			if (x->word)
				fprintf(f, "%s", x->word[k]);
			else
				fprintf(f, "%lld", (long long)x->choice[k]);
		}
	}
	fprintf(f, "\n");
	textfile_close(f);
	say(to, text);
	free(text);
}

static noreturn void lies(const struct process *p, const char *why)
{
	die(EX_BADDATA, "--strategy pipe:%s: %s: %s", shown(p->command), why, shown(p->line));
}

/* Its next line, without the line feed. */
static char *hear(struct process *p)
{
	errno = 0;
	ssize_t n = getline(&p->line, &p->size, p->in);

	if (n > 0 && p->line[n - 1] == '\n') {
		p->line[n - 1] = 0;
		return p->line;
	}
	if (n < 0 && errno == EAGAIN)
		die(EX_NOTAVAIL, "--strategy pipe:%s: it does not answer for %d seconds", shown(p->command), ANSWER_SECONDS);
	int status = 0;
	waitpid(p->pid, &status, 0);
	if (WIFSIGNALED(status))
		die(EX_NOTAVAIL, "--strategy pipe:%s: it was killed by signal %d", shown(p->command), WTERMSIG(status));
	die(EX_NOTAVAIL, "--strategy pipe:%s: it ended (%d) before it proposed schedules", shown(p->command), WEXITSTATUS(status));
}

static void start(struct process *p)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		die_errno(EX_SYSTEM, "socketpair");
	if ((p->pid = fork()) == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(fd[1], STDIN_FILENO);
		dup2(fd[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", p->command, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	p->fd = fd[0];
	if (p->pid < 0 || setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = ANSWER_SECONDS}, sizeof(struct timeval)) ||
	    !(p->in = fdopen(p->fd, "r")))
		die_errno(EX_SYSTEM, "--strategy pipe:%s", shown(p->command));
}

static void *init(struct search *s)
{
	struct process *p = xcalloc(1, sizeof *p);
	char *text;
	FILE *f = textfile_open(&text, NULL);

	p->command = ((const struct piped *)s->strategy)->command;
	start(p);
	fprintf(f, "strategy 1 %llu\n", (unsigned long long)s->rng.s);
	for (size_t i = 0; i < s->space->origins.n; i++)
		fprintf(f, "origin %zu %s\n", i, s->space->origins.a[i].name);
	textfile_close(f);
	say(p, text);
	free(text);
	for (size_t i = 0; i < s->points.n; i++)
		say_point(p, s->points.a[i]);
	return p;
}

/* "NAME=WORD" as the sample of the point from which the choices are known. False: it is none of these. */
static bool read_decision(const struct point *from, char *word, struct samples *want)
{
	char *is = strchr(word, '='), *end;
	struct sample *known, x;

	if (!is)
		return false;
	*is = 0;
	known = samples_find(&from->at, word);
	*is = '=';
	if (!known)
		return true; /* another choice may bring it; else it says nothing */
	x = *known;
	for (int k = 0; k < x.n; k++) {
		bool same = x.word ? !strcmp(x.word[k], is + 1) : strtoll(is + 1, &end, 10) == x.choice[k] && !*end && end > is + 1;
		if (same) {
			x.decision = x.choice[k];
			vec_push(want, x);
			return true;
		}
	}
	return false;
}

/* The point of "try ORIGIN NAME=DECISION ...", if it is new. Which decisions there are follows from others, so it is asked for until none is
 * new. */
static struct point *try(struct search *s, struct process *p, char *words)
{
	enum { DEPTH = 4 };
	char *save, *copy = xstrdup(words), *word = strtok_r(copy, " ", &save), *list[WORDS_MAX], *end = NULL;
	long origin = word ? strtol(word, &end, 10) : -1;
	struct samples want = {0};
	size_t nlist = 0;

	if (!word || *end || origin < 0 || (size_t)origin >= s->space->origins.n)
		lies(p, "there is no such origin");
	while ((word = strtok_r(NULL, " ", &save)) && nlist < WORDS_MAX)
		list[nlist++] = word;
	struct point *from = origin ? space_point(s->space, (int)origin, &usual) : s->points.a[0];
	for (size_t met = 0, k = 0; from && k < DEPTH && (k == 0 || from->at.n > met); k++) {
		met = from->at.n;
		want.n = 0;
		for (size_t i = 0; i < nlist; i++)
			if (!read_decision(from, list[i], &want))
				lies(p, "a decision is none of its choices");
		from = space_point(s->space, (int)origin, &want);
	}
	from = from ? draw(s, (int)origin, &want) : NULL;
	vec_free(&want);
	free(copy);
	return from;
}

static size_t propose(struct search *s, size_t n, struct point **out)
{
	struct process *p = s->state;
	size_t count = 0;
	char *text = xprintf("propose %zu\n", n);

	say(p, text);
	free(text);
	for (int vain = 0;;) {
		char *line = hear(p);
		if (!strcmp(line, "done"))
			return count;
		if (strncmp(line, "try ", 4))
			lies(p, "neither try nor done");
		struct point *made = count < n ? try(s, p, line + 4) : NULL;
		if (made)
			say_point(p, out[count++] = made);
		else if (++vain > VAIN_MAX)
			lies(p, "it tries what leads to nothing new, and does not end");
		else
			say(p, "none\n");
	}
}

static void tell(struct search *s, struct point *x) { say_point(s->state, x); }

static void end(void *state)
{
	struct process *p = state;

	fclose(p->in);
	kill(p->pid, SIGTERM);
	waitpid(p->pid, NULL, 0);
	free(p->line);
	free(p);
}

const struct strategy *strategy_pipe(const char *command)
{
	struct piped *p = xcalloc(1, sizeof *p);

	if (!command[strspn(command, " \t\n")])
		die(EX_BADUSE, "--strategy pipe: which command?");
	p->row = (struct strategy){.name = "pipe", .summary = "a program", .init = init, .propose = propose, .tell = tell, .free = end};
	p->command = command;
	return &p->row;
}
