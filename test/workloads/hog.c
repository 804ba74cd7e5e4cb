/*
 * Keeps a CPU busy until standard input ends, and never sleeps.
 *
 * usage: hog [CPU]
 *
 * Prints "ready PID TID"; at the end "done VOLUNTARY INVOLUNTARY", its own switches since then.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>

#include "workload.h"

int main(int argc, char **argv)
{
	struct rusage before, after;
	ssize_t got = -1;
	char byte;

	if (argc > 1)
		pin(0, atoi(argv[1]));
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	printf("ready %d %d\n", getpid(), getpid());
	fflush(stdout);
	getrusage(RUSAGE_SELF, &before);
	while (got != 0) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		got = read(STDIN_FILENO, &byte, 1);
	}
	getrusage(RUSAGE_SELF, &after);
	printf("done %ld %ld\n", after.ru_nvcsw - before.ru_nvcsw,
	       after.ru_nivcsw - before.ru_nivcsw);
	return 0;
}
