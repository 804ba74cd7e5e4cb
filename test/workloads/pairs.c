/*
 * Allocates and frees 64 bytes, again and again, until it is killed.
 *
 * usage: pairs
 *
 * Prints "NS PAIRS" for each 100 ms of CPU time: how much of it a pair took, and how many pairs
 * there were.
 */
#define _GNU_SOURCE
#include "workload.h"

#define PAIRS_AT_ONCE 1000
#define LINE_NS	      100000000ULL

/* Not the clock on the wall: others may want the CPU, too. */
static unsigned long long cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		unsigned long long begin = cpu_ns(), pairs = 0, took;

		do {
			for (int i = 0; i < PAIRS_AT_ONCE; i++) {
				void *volatile block = malloc(64);

				free(block);
			}
			pairs += PAIRS_AT_ONCE;
			took = cpu_ns() - begin;
		} while (took < LINE_NS);
		printf("%.2f %llu\n", (double)took / pairs, pairs);
	}
}
