/*
 * Waits in wait_later, twice, and ends: what `brief` can become.
 *
 * usage: later USEC
 */
#define _GNU_SOURCE
#include "frames.h"

IN_STACKS static void wait_later(unsigned long long time_ns)
{
	sleep_here(time_ns);
}

int main(int argc, char **argv)
{
	unsigned long long time_ns = argc > 1 ? atol(argv[1]) * 1000 : 0;

	wait_later(time_ns);
	wait_later(time_ns);
	return 0;
}
