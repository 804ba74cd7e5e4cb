/*
 * Waits in wait_briefly, five times; becomes another program if one is given; ends.
 *
 * usage: brief USEC [FILE ARGUMENT…]
 */
#define _GNU_SOURCE
#include "frames.h"

#define WAITS 5

IN_STACKS static void wait_briefly(unsigned long long time_ns)
{
	sleep_here(time_ns);
}

int main(int argc, char **argv)
{
	unsigned long long time_ns = argc > 1 ? atol(argv[1]) * 1000 : 0;

	/* As the kernel may not show the end of one of them. */
	for (int i = 0; i < WAITS; i++)
		wait_briefly(time_ns);
	if (argc > 2)
		execv(argv[2], argv + 2);
	return argc > 2 ? 2 : 0;
}
