/*
 * Waits with many different stacks: each number is a path through two functions, one for each bit.
 *
 * usage: paths FROM COUNT [TIMES [DEPTH]]
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Waits once, for a moment,
 * at the end of each of the paths FROM to FROM + COUNT - 1, of 15 bits, and does so TIMES times.
 * DEPTH frames more are before each path.
 * Then prints "done SLEPT", how often it did, as a moment may be over before it can; ends at the
 * next byte.
 */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "frames.h"

#define BITS	  15
#define MOMENT_NS 1000

IN_STACKS static void path_ends(void)
{
	sleep_here(MOMENT_NS);
}

/* What comes after a call keeps it from being made a jump. */
static volatile int after;

static void zero(unsigned path, int bits);
static void one(unsigned path, int bits);

static inline void follow(unsigned path, int bits)
{
	if (bits == 0)
		path_ends();
	else if (path & 1)
		one(path >> 1, bits - 1);
	else
		zero(path >> 1, bits - 1);
	after++;
}

IN_STACKS static void zero(unsigned path, int bits)
{
	follow(path, bits);
	after = 0;
}

IN_STACKS static void one(unsigned path, int bits)
{
	follow(path, bits);
	after = 1;
}

IN_STACKS static void deeper(unsigned depth, unsigned path)
{
	if (depth > 1)
		deeper(depth - 1, path);
	else
		follow(path, BITS);
	after = depth;
}

int main(int argc, char **argv)
{
	struct rusage before, later;
	unsigned from, count, times, depth;

	if (argc < 3)
		return 2;
	from = atoi(argv[1]);
	count = atoi(argv[2]);
	times = argc > 3 ? atoi(argv[3]) : 1;
	depth = argc > 4 ? atoi(argv[4]) : 0;
	ready(getpid(), syscall(SYS_gettid));
	getrusage(RUSAGE_SELF, &before);
	for (unsigned i = 0; i < times; i++)
		for (unsigned path = from; path < from + count; path++)
			if (depth)
				deeper(depth, path);
			else
				follow(path, BITS);
	getrusage(RUSAGE_SELF, &later);
	printf("done %ld\n", later.ru_nvcsw - before.ru_nvcsw);
	return stay();
}
