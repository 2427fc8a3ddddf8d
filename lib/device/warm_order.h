/* What the service asks of a compiler that has begun already (device/warm.h); private to lib/device. */
enum { WARM_SOCKET = 3 /* the compiler's end of it */ };
struct warm_order {
	int parent;      /* process that it ends with */
	int core;        /* it runs on this one, */
	int nice;
	int seconds;     /* of the processor's time: no more */
	long bytes;      /* of a file: no more */
	char in[256];    /* C */
	char out[256];   /* assembler text */
	char report[64]; /* what it says */
};
