/*
 * Runs in two functions, in a known proportion, and in the kernel if asked to.
 *
 * usage: burns [kernel | swapped]
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Runs seven times in
 * burn_more while three times in burn_less, swapped the other way round, or reads zeroes in
 * read_zeroes, until the next byte.
 * Then prints "done MORE_NS LESS_NS", its CPU time in the two, and ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "frames.h"

#define BURNS 200000

static char zeroes[1 << 20];

IN_STACKS static void burn_more(long burns)
{
	burn_here(burns);
}

IN_STACKS static void burn_less(long burns)
{
	burn_here(burns);
}

/* BURNS to twice that, pseudo-random: whoever samples by a clock must not keep step. */
static long next_burns(void)
{
	static unsigned int state = 1;

	/* Marsaglia, Xorshift RNGs (2003) */
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return BURNS + state % BURNS;
}

IN_STACKS static void read_zeroes(int fd)
{
	call_kernel(SYS_read, fd, (long)zeroes, sizeof(zeroes), 0);
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	const char *kind = argc > 1 ? argv[1] : "";
	int fd = !strcmp(kind, "kernel") ? open("/dev/zero", O_RDONLY) : -1;
	int swapped = !strcmp(kind, "swapped");
	unsigned long long more_ns = 0, less_ns = 0, began_ns, between_ns;
	long burns;

	ready(getpid(), getpid());
	while (poll(&input, 1, 0) == 0) {
		if (fd >= 0) {
			read_zeroes(fd);
			continue;
		}
		burns = next_burns();
		began_ns = thread_cpu_ns();
		burn_more((swapped ? 3 : 7) * burns);
		between_ns = thread_cpu_ns();
		burn_less((swapped ? 7 : 3) * burns);
		more_ns += between_ns - began_ns;
		less_ns += thread_cpu_ns() - between_ns;
	}
	printf("done %llu %llu\n", more_ns, less_ns);
	return 0;
}
