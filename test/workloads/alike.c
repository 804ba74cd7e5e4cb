/*
 * Waits in a function whose name is all that tells this program from another one, which has its
 * code at the same addresses; then becomes that one.
 *
 * usage: alike [PROGRAM]
 */
#define _GNU_SOURCE
#include "frames.h"

#ifndef WAIT
#define WAIT wait_as_one
#endif
#define WAITS	5
#define WAIT_NS 20000000

IN_STACKS static void WAIT(void)
{
	sleep_here(WAIT_NS);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < WAITS; i++)
		WAIT();
	if (argc > 1)
		execl(argv[1], argv[1], NULL);
	return argc > 1;
}
