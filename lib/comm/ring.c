#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "comm/ring.h"
#include "common/arena.h"
#include "common/progress.h"

enum {
	GRAIN = 32 << 10,        /* an unfinished chunk is passed on in pieces of at least so many bytes */
	BOUNCE = 256 << 10,      /* bytes that are received at a time and then added */
	SOCKET_BUFFER = 4 << 20, /* fixed, so that the kernel's adaptation of it does not change the times */
};

struct ring {
	int rank, n;
	int in, out; /* from the rank before, to the next; not blocking; -1: a ring of one */
	double timeout;
	char **addr;
	float *bounce, *barrier;
	enum ring_fault fault;
	char why[300];
};

/* The first thing said on a connection. */
struct hello {
	char magic[8];
	uint32_t version, rank, n, order; /* order: 1 in the sender's byte order */
};
static const struct hello hello = {.magic = "honering", .version = 1, .order = 1};

static __thread char open_why[300];

/* Addresses. */

static struct addrinfo *resolve(const char *addr, bool passive)
{
	char host[256];
	const char *colon = strrchr(addr, ':');
	struct addrinfo hint = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0}, *list;
	if (!colon || (size_t)(colon - addr) >= sizeof host) {
		snprintf(open_why, sizeof open_why, "%.200s: expected host:port", addr);
		return NULL;
	}
	memcpy(host, addr, (size_t)(colon - addr));
	host[colon - addr] = 0;
	char *h = host;
	if (*h == '[' && colon[-1] == ']')
		h++, host[colon - addr - 1] = 0;
	int e = getaddrinfo(h, colon + 1, &hint, &list);
	if (e) {
		snprintf(open_why, sizeof open_why, "%.200s: %s", addr, e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
		return NULL;
	}
	return list;
}

int ring_listen(const char *addr, int *port, const char **why)
{
	struct sockaddr_storage bound;
	struct addrinfo *list = resolve(addr, true);
	int one = 1, fd = -1;
	*why = open_why;
	if (!list)
		return -1;
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd >= 0)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (fd >= 0 && (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 16))) {
			snprintf(open_why, sizeof open_why, "%.200s: cannot listen there: %s", addr, strerror(errno));
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		return -1;
	getsockname(fd, (struct sockaddr *)&bound, &(socklen_t){sizeof bound});
	*port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port : ((struct sockaddr_in *)&bound)->sin_port);
	return fd;
}

/* Waits for what `events` names until the deadline. */
static bool wait_for(int fd, short events, double deadline)
{
	for (;;) {
		double left = deadline - now_seconds();
		struct pollfd p = {.fd = fd, .events = events};
		int e = poll(&p, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
		if (e > 0)
			return true;
		if (e == 0 || errno != EINTR)
			return false;
	}
}

static void ready_socket(int fd)
{
	int one = 1, size = SOCKET_BUFFER;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

/* One try at one address; -1 and errno. */
static int connect_to(const struct addrinfo *a, double deadline)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), e = 0;
	if (fd < 0)
		return -1;
	ready_socket(fd);
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return fd;
	e = errno;
	if (e == EINPROGRESS) {
		e = ETIMEDOUT;
		if (wait_for(fd, POLLOUT, deadline))
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &(socklen_t){sizeof e});
	}
	if (e == 0)
		return fd;
	close(fd);
	errno = e;
	return -1;
}

static bool connect_next(struct ring *r, double deadline)
{
	int next = (r->rank + 1) % r->n;
	struct addrinfo *list = resolve(r->addr[next], false);
	if (!list)
		return false;
	do { /* tried again: it may not listen yet */
		for (struct addrinfo *a = list; a && r->out < 0; a = a->ai_next)
			r->out = connect_to(a, deadline);
	} while (r->out < 0 && errno == ECONNREFUSED && now_seconds() < deadline && usleep(20000) == 0);
	if (r->out < 0)
		snprintf(open_why, sizeof open_why, "rank %d (%.100s) cannot reach rank %d (%.100s): %s", r->rank, r->addr[r->rank], next,
			 r->addr[next], strerror(errno));
	freeaddrinfo(list);
	if (r->out < 0)
		return false;
	struct hello h = hello;
	h.rank = (uint32_t)r->rank;
	h.n = (uint32_t)r->n;
	return send(r->out, &h, sizeof h, MSG_NOSIGNAL) == sizeof h;
}

/* Reads the hello of a connection; false: not one of ours. */
static bool greeted(const struct ring *r, int fd, double deadline)
{
	struct hello h;
	size_t have = 0;
	while (have < sizeof h) {
		if (!wait_for(fd, POLLIN, deadline))
			return false;
		ssize_t k = recv(fd, (char *)&h + have, sizeof h - have, 0);
		if (k <= 0)
			return false;
		have += (size_t)k;
	}
	return !memcmp(h.magic, hello.magic, sizeof h.magic) && h.version == hello.version && h.order == hello.order &&
	       h.n == (uint32_t)r->n && h.rank == (uint32_t)((r->rank + r->n - 1) % r->n);
}

static bool accept_previous(struct ring *r, int listener, double deadline)
{
	int before = (r->rank + r->n - 1) % r->n, others = 0;
	while (r->in < 0 && wait_for(listener, POLLIN, deadline)) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		ready_socket(fd);
		if (greeted(r, fd, deadline)) {
			fcntl(fd, F_SETFL, O_NONBLOCK);
			r->in = fd;
		} else {
			close(fd);
			others++;
		}
	}
	if (r->in < 0)
		snprintf(open_why, sizeof open_why, "rank %d (%.100s): rank %d (%.100s) %s", r->rank, r->addr[r->rank], before,
			 r->addr[before], others ? "is of another version or byte order" : "did not connect");
	return r->in >= 0;
}

struct ring *ring_open(int rank, int n, const char *const *addr, int listener, double timeout, enum ring_fault *fault, const char **why)
{
	struct ring *r = xcalloc(1, sizeof *r);
	double deadline = now_seconds() + timeout;
	*r = (struct ring){.rank = rank, .n = n, .in = -1, .out = -1, .timeout = timeout};
	r->addr = xcalloc((size_t)n, sizeof *r->addr);
	for (int i = 0; i < n; i++)
		r->addr[i] = xstrdup(addr[i]);
	r->bounce = xmalloc(BOUNCE);
	r->barrier = xcalloc((size_t)n, sizeof *r->barrier);
	*why = open_why;
	*fault = RING_FINE;
	if (n > 1 && !connect_next(r, deadline))
		*fault = RING_UNREACHABLE;
	else if (n > 1 && !accept_previous(r, listener, deadline))
		*fault = RING_SILENT;
	if (listener >= 0)
		close(listener);
	if (*fault == RING_FINE)
		return r;
	ring_close(r);
	return NULL;
}

/* The all-reduce: a rank sends a stream of 2 (n - 1) chunks: first its own, then each one that it has received. So the outgoing stream
 * may be ahead of the incoming one by the length of the first chunk. */

struct stream {
	int chunk;       /* which of the data's n chunks */
	int left;        /* chunks of the stream not finished, this one included */
	size_t at, size; /* bytes of this chunk done, and all of it */
};

static size_t chunk_start(const struct ring *r, size_t n, int chunk)
{
	return (size_t)((unsigned __int128)n * (unsigned)chunk / (unsigned)r->n) * sizeof(float);
}

static void stream_chunk(const struct ring *r, struct stream *s, size_t n)
{
	s->at = 0;
	s->size = chunk_start(r, n, s->chunk + 1) - chunk_start(r, n, s->chunk);
}

static struct stream stream_begin(const struct ring *r, size_t n, int chunk)
{
	struct stream s = {.chunk = chunk, .left = 2 * (r->n - 1)};
	stream_chunk(r, &s, n);
	return s;
}

/* Steps over finished chunks, empty ones too. */
static void stream_step(const struct ring *r, struct stream *s, size_t n)
{
	while (s->left && s->at == s->size) {
		s->chunk = (s->chunk + r->n - 1) % r->n;
		if (--s->left)
			stream_chunk(r, s, n);
	}
}

static bool failed(struct ring *r, enum ring_fault fault, bool next, const char *what)
{
	int who = (r->rank + (next ? 1 : r->n - 1)) % r->n;
	r->fault = fault;
	snprintf(r->why, sizeof r->why, "rank %d (%.100s) %s", who, r->addr[who], what);
	return false;
}

/* Receives a part of the incoming stream. In the first half of the stream it is added to the data, in the second half it replaces them. */
static bool receive(struct ring *r, struct stream *s, size_t *part, char *data, size_t n)
{
	bool add = s->left > r->n - 1;
	char *to = data + chunk_start(r, n, s->chunk) + s->at, *into = add ? (char *)r->bounce + *part : to;
	size_t want = s->size - s->at - (add ? *part : 0);
	ssize_t k = recv(r->in, into, add && want > BOUNCE - *part ? BOUNCE - *part : want, 0);
	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (k <= 0)
		return failed(r, RING_CLOSED, false, k < 0 ? strerror(errno) : "closed the connection");
	if (!add) {
		s->at += (size_t)k;
		return true;
	}
	/* Whole floats are added; a part of one waits for its other bytes. */
	size_t have = *part + (size_t)k, whole = have / sizeof(float);
	float *sum = (float *)(void *)to;
	for (size_t i = 0; i < whole; i++)
		sum[i] = r->bounce[i] + sum[i];
	*part = have % sizeof(float);
	memmove(r->bounce, (char *)r->bounce + whole * sizeof(float), *part);
	s->at += whole * sizeof(float);
	return true;
}

/* Bytes of the outgoing chunk that have arrived and can be sent. */
static size_t sendable(const struct ring *r, const struct stream *out, const struct stream *in)
{
	if (!out->left)
		return 0;
	/* out is chunk number 2 (n - 1) - left of its stream, and in's chunk of the number before holds it. */
	int behind = in->left - out->left;
	size_t there = out->left == 2 * (r->n - 1) || behind < 1 ? out->size : behind == 1 ? in->at : 0;
	size_t k = there > out->at ? there - out->at : 0;
	return k < GRAIN && there < out->size ? 0 : k;
}

static bool transmit(struct ring *r, struct stream *out, size_t k, const char *data, size_t n)
{
	ssize_t sent = send(r->out, data + chunk_start(r, n, out->chunk) + out->at, k, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return failed(r, RING_CLOSED, true, errno == EPIPE || errno == ECONNRESET ? "closed the connection" : strerror(errno));
	if (sent > 0)
		out->at += (size_t)sent;
	return true;
}

bool ring_allreduce(struct ring *r, float *values, size_t n)
{
	char *data = (char *)values;
	size_t part = 0;
	if (r->fault)
		return false;
	if (r->n == 1)
		return true;
	struct stream out = stream_begin(r, n, r->rank), in = stream_begin(r, n, (r->rank + r->n - 1) % r->n);
	for (;;) {
		stream_step(r, &in, n);
		stream_step(r, &out, n);
		if (!in.left && !out.left)
			return true;
		size_t k = sendable(r, &out, &in);
		struct pollfd p[2] = {{.fd = in.left ? r->in : -1, .events = POLLIN}, {.fd = k ? r->out : -1, .events = POLLOUT}};
		int e = poll(p, 2, (int)(r->timeout * 1e3));
		if (e < 0 && errno != EINTR)
			return failed(r, RING_CLOSED, false, strerror(errno));
		if (e == 0) {
			char what[60];
			snprintf(what, sizeof what, "%s for %.3g s", in.left ? "is silent" : "does not read", r->timeout);
			return failed(r, RING_SILENT, !in.left, what);
		}
		if (e > 0 && p[0].revents && !receive(r, &in, &part, data, n))
			return false;
		if (e > 0 && p[1].revents && !transmit(r, &out, k, data, n))
			return false;
	}
}

bool ring_barrier(struct ring *r)
{
	memset(r->barrier, 0, (size_t)r->n * sizeof *r->barrier);
	return ring_allreduce(r, r->barrier, (size_t)r->n);
}

enum ring_fault ring_fault(const struct ring *r, const char **why)
{
	*why = r->why;
	return r->fault;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	if (r->in >= 0)
		close(r->in);
	if (r->out >= 0)
		close(r->out);
	for (int i = 0; i < r->n; i++)
		free(r->addr[i]);
	free(r->addr);
	free(r->bounce);
	free(r->barrier);
	free(r);
}
