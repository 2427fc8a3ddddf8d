/* A network to test on: netlab -n RANKS [-d US] [-r MBIT] [-m MTU] [-f] -o HOSTS COMMAND...
 *
 * One network namespace a rank, joined by this process as the switch: it reads every packet from the rank's TUN device, keeps it for
 * US microseconds and writes it to the receiver's. tbf on each device gives the rate. Runs COMMAND with HOSTS written, a hosts
 * file of tune-grad whose commands enter the namespaces, with -f at real-time priority, and ends with its exit code.
 *
 * Namespaces and devices have no names outside: they live as long as this process has them open and somebody is inside, so
 * nothing is left behind, however it ends. 77: there is no permission or no program to make them with. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 64, PACKET_MAX = 65536, SKIP = 77 };

static struct {
	int n, delay_us, mbit, mtu;
	int realtime;
	const char *hosts;
	int tun[RANKS_MAX], space[RANKS_MAX];
} net = {.n = 2, .mtu = 9000};

static void skip(const char *what)
{
	fprintf(stderr, "netlab: %s: %s\n", what, strerror(errno));
	exit(SKIP);
}

static int sh(const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	return system(line);
}

static void set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		fprintf(stderr, "netlab: %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Namespace and device of one rank. */
static void make_rank(int i)
{
	struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	if (unshare(CLONE_NEWNET))
		skip("a network namespace");
	net.space[i] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	net.tun[i] = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	snprintf(r.ifr_name, sizeof r.ifr_name, "rank%d", i);
	if (net.space[i] < 0 || net.tun[i] < 0 || ioctl(net.tun[i], TUNSETIFF, &r))
		skip("a TUN device");
	if (sh("ip link set lo up && ip addr add 10.99.0.%d/24 dev rank%d && ip link set rank%d mtu %d txqueuelen 10000 up", i + 1, i, i,
	       net.mtu))
		skip("ip");
	/* A burst of a few packets, so that an idle time earns nothing worth a note; room for all that a sender has. */
	if (net.mbit && sh("tc qdisc add dev rank%d root tbf rate %dmbit burst %d limit 32mb", i, net.mbit, 3 * net.mtu))
		skip("tc");
	set("/proc/sys/net/ipv4/tcp_congestion_control", "reno");
	set("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0");
	set("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
}

static void write_hosts(void)
{
	FILE *f = fopen(net.hosts, "w");
	for (int i = 0; f && i < net.n; i++)
		fprintf(f, "10.99.0.%d nsenter --net=/proc/%d/fd/%d%s\n", i + 1, (int)getpid(), net.space[i],
			net.realtime ? " chrt -f 10" : "");
	if (!f || fclose(f)) {
		fprintf(stderr, "netlab: %s: %s\n", net.hosts, strerror(errno));
		exit(74);
	}
}

/* The switch. */

struct packet {
	struct packet *next;
	int64_t release; /* ns */
	size_t n;
	int to;
	unsigned char data[];
};
static struct packet *first, **last = &first;
static unsigned char buffer[PACKET_MAX];

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void take_packets(int from)
{
	for (ssize_t k; (k = read(net.tun[from], buffer, sizeof buffer)) > 0;) {
		int to = k >= 20 && buffer[0] >> 4 == 4 ? buffer[19] - 1 : -1;
		if (to < 0 || to >= net.n)
			continue; /* IPv6's own talk */
		struct packet *p = malloc(sizeof *p + (size_t)k);
		if (!p)
			abort();
		*p = (struct packet){.release = now() + net.delay_us * 1000ll, .n = (size_t)k, .to = to};
		memcpy(p->data, buffer, (size_t)k);
		*last = p;
		last = &p->next;
	}
}

static void release_packets(void)
{
	while (first && first->release <= now()) {
		struct packet *p = first;
		if (write(net.tun[p->to], p->data, p->n) < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
			fprintf(stderr, "netlab: a packet is lost: %s\n", strerror(errno));
		first = p->next;
		if (!first)
			last = &first;
		free(p);
	}
}

static void run_switch(int child)
{
	struct pollfd p[RANKS_MAX + 1];
	for (int i = 0; i < net.n; i++)
		p[i] = (struct pollfd){.fd = net.tun[i], .events = POLLIN};
	p[net.n] = (struct pollfd){.fd = child, .events = POLLIN};
	for (;;) {
		int64_t left = first ? first->release - now() : 0;
		struct timespec t = {.tv_sec = left > 0 ? left / 1000000000 : 0, .tv_nsec = left > 0 ? left % 1000000000 : 0};
		if (ppoll(p, (nfds_t)net.n + 1, first ? &t : NULL, NULL) < 0 && errno != EINTR)
			abort();
		release_packets();
		for (int i = 0; i < net.n; i++)
			if (p[i].revents & POLLIN)
				take_packets(i);
		release_packets();
		if (p[net.n].revents)
			return;
	}
}

static int number(const char *s)
{
	char *end;
	long v = strtol(s, &end, 10);
	if (*end || v < 0 || v > 1000000) {
		fprintf(stderr, "netlab: '%s': expected a number\n", s);
		exit(64);
	}
	return (int)v;
}

static int options(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "+n:d:r:m:fo:")) != -1;)
		switch (c) {
		case 'n': net.n = number(optarg); break;
		case 'd': net.delay_us = number(optarg); break;
		case 'r': net.mbit = number(optarg); break;
		case 'm': net.mtu = number(optarg); break;
		case 'f': net.realtime = 1; break;
		case 'o': net.hosts = optarg; break;
		default: exit(64);
		}
	if (optind == argc || !net.hosts || net.n < 1 || net.n > RANKS_MAX) {
		fprintf(stderr, "usage: netlab -n RANKS [-d US] [-r MBIT] [-m MTU] [-f] -o HOSTS COMMAND...\n");
		exit(64);
	}
	return optind;
}

int main(int argc, char **argv)
{
	int at = options(argc, argv), status;
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct sched_param rt = {.sched_priority = 20};
	for (int i = 0; i < net.n; i++)
		make_rank(i);
	if (setns(home, CLONE_NEWNET))
		skip("the way back");
	/* The switch goes before everything else, or its delays would be the machine's load. */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &rt))
		net.realtime = 0;
	write_hosts();
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[at], argv + at);
		fprintf(stderr, "netlab: %s: %s\n", argv[at], strerror(errno));
		_exit(127);
	}
	int handle = child < 0 ? -1 : (int)syscall(SYS_pidfd_open, child, 0);
	if (handle < 0)
		skip("a process");
	run_switch(handle);
	waitpid(child, &status, 0);
	unlink(net.hosts);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
