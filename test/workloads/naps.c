/*
 * A thread that works for a moment and sleeps, so many times.
 *
 * usage: naps COUNT WORK_USEC NAP_USEC
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Prints "done COUNT
 * NAPS_NS" when it is, how long it slept by its own clock, and ends at the next byte.
 */
#define _GNU_SOURCE
#include "workload.h"

int main(int argc, char **argv)
{
	long count = argc > 3 ? atol(argv[1]) : 0;
	unsigned long long work_ns = argc > 3 ? atol(argv[2]) * 1000ULL : 0;
	unsigned long long naps_ns = 0;
	struct timespec nap = {.tv_nsec = argc > 3 ? atol(argv[3]) * 1000 : 0};

	ready(getpid(), getpid());
	for (long i = 0; i < count; i++) {
		unsigned long long began_ns;

		spin(work_ns);
		began_ns = now_ns();
		nanosleep(&nap, NULL);
		naps_ns += now_ns() - began_ns;
	}
	printf("done %ld %llu\n", count, naps_ns);
	return stay();
}
