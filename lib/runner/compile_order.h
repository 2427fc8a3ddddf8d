/* What the service asks of a compile server (runner/compile_server.h). Private to lib/runner. */
enum {
	COMPILE_SOCKET = 3,    /* the server's end of it */
	COMPILE_RULES,         /* what a fork of it may open, landlock(7); if the order says so */
	COMPILE_RESTRICT = 446 /* the system call */
};
struct compile_order {
	int confined; /* the fork takes the rules */
	int parent;   /* it ends with this process */
	int core;     /* it runs on this one, */
	int nice;
	int seconds; /* of CPU time, at most */
	long bytes;  /* of a file, at most */
	char in[256];
	char out[256];
	char report[64]; /* file for messages */
};
