/*
 * As many events as a machine can make, for ever.
 *
 * usage: storm [CPU]
 *
 * Prints "ready PID TID". At the first byte on standard input two threads begin to pass a byte to
 * and fro through pipes, which is a switch and two system calls each time; each also allocates and
 * frees. Ends at the next byte, or when standard input does. On one CPU both are quickest: a thread
 * that is woken on another is not, and how slow that is depends on the machine.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "workload.h"

static int there[2], back[2];
void *volatile block;

static void *answer(void *unused)
{
	char byte;

	(void)unused;
	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) {
		block = malloc(100);
		free(block);
	}
	return NULL;
}

static void *await_end(void *unused)
{
	char byte;
	ssize_t n = read(0, &byte, 1);

	(void)unused;
	(void)n;
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte = 'x';

	if (argc > 1)
		pin(0, atoi(argv[1]));
	if (pipe(there) || pipe(back))
		return 1;
	ready(getpid(), getpid());
	if (pthread_create(&thread, NULL, answer, NULL) ||
	    pthread_create(&thread, NULL, await_end, NULL))
		return 1;
	while (write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1)
		;
	return 0;
}
