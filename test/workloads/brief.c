/*
 * Waits in wait_briefly; becomes another program if one is given; ends.
 *
 * usage: brief USEC [FILE ARGUMENT…]
 */
#define _GNU_SOURCE
#include "frames.h"

IN_STACKS static void wait_briefly(unsigned long long time_ns)
{
	sleep_here(time_ns);
}

int main(int argc, char **argv)
{
	wait_briefly(argc > 1 ? atol(argv[1]) * 1000 : 0);
	if (argc > 2)
		execv(argv[2], argv + 2);
	return argc > 2 ? 2 : 0;
}
