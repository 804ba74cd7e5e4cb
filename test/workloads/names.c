/*
 * Waits, and runs, in functions whose names are what compilers of other languages make of them, or
 * what no compiler would.
 *
 * usage: names [COMM]
 *
 * Takes the name COMM. Prints "ready PID TID" and goes on until standard input ends.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/prctl.h>

#include "frames.h"

#define NAP_NS 2000000
/* Longer than the time between two samples at 999 Hz: none that is not preempted passes without. */
#define BURN_NS 2000000

static void *volatile block;

void in_c(void);
void in_cpp(int) __asm__("_ZN4shop7waitForEi");
void in_rust(void) __asm__("_RNvNtCs4fqI2P2rA04_4shop5queue4wait");
void in_older_rust(void) __asm__("_ZN4shop5queue5serve17h0123456789abcdefE");
void in_odd(void) __asm__("odd\033[31m;name\n\177");

IN_STACKS void in_c(void)
{
	sleep_here(NAP_NS);
	burn_for_here(BURN_NS);
}

IN_STACKS void in_cpp(int time_ns)
{
	sleep_here(time_ns);
	burn_for_here(BURN_NS);
}

IN_STACKS void in_rust(void)
{
	sleep_here(NAP_NS);
	burn_for_here(BURN_NS);
}

IN_STACKS void in_older_rust(void)
{
	sleep_here(NAP_NS);
	burn_for_here(BURN_NS);
}

IN_STACKS void in_odd(void)
{
	sleep_here(NAP_NS);
	burn_for_here(BURN_NS);
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	if (argc > 1)
		prctl(PR_SET_NAME, argv[1]);
	printf("ready %d %d\n", getpid(), getpid());
	fflush(stdout);
	while (poll(&input, 1, 0) == 0) {
		in_c();
		in_cpp(NAP_NS);
		in_rust();
		in_older_rust();
		in_odd();
		block = malloc(100);
		free(block);
	}
	return 0;
}
