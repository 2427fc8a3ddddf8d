/* What the service asks of a program that has begun already (runner/compile_server.h); private to lib/device. */
enum {
	WARM_SOCKET = 3,    /* the program's end of it */
	WARM_RULES,         /* what a fork of it may open, landlock(7); if the order says so */
	WARM_RESTRICT = 446 /* the system call */
};
struct warm_order {
	int confined; /* it takes the rules */
	int parent;   /* process that it ends with */
	int core;     /* it runs on this one, */
	int nice;
	int seconds; /* of the processor's time: no more */
	long bytes;  /* of a file: no more */
	char in[256];
	char out[256];
	char report[64]; /* what it says */
};
