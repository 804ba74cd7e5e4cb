/*
 * Waits in wait_later, five times, and ends: what `brief` can become.
 *
 * usage: later USEC
 */
#define _GNU_SOURCE
#include "frames.h"

#define WAITS 5

IN_STACKS static void wait_later(unsigned long long time_ns)
{
	sleep_here(time_ns);
}

int main(int argc, char **argv)
{
	unsigned long long time_ns = argc > 1 ? atol(argv[1]) * 1000 : 0;

	for (int i = 0; i < WAITS; i++)
		wait_later(time_ns);
	return 0;
}
