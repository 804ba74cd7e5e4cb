/*
 * Two threads at a known depth, in code without frame pointers, until they are killed.
 *
 * usage: deep waits|spins DEPTH
 *
 * waits: they wake each other by pipes, both on CPU 0; spins: they keep two CPUs busy. Each is in
 * DEPTH calls of one function, and in five more. Prints "ready PID TID" and begins at the first
 * byte on standard input.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "workload.h"

static int pipes[2][2];
static int spins;
/* What comes after a call keeps it from being made a jump. */
static volatile int after;

__attribute__((noinline)) static void leaf(long me)
{
	char byte = 1;

	while (spins)
		after++;
	for (;;) {
		if (me == 0 && write(pipes[0][1], &byte, 1) != 1)
			exit(2);
		if (read(pipes[1 - me][0], &byte, 1) != 1)
			exit(2);
		if (me == 1 && write(pipes[1][1], &byte, 1) != 1)
			exit(2);
	}
}

__attribute__((noinline)) static void descends(long me, int left)
{
	if (left > 1)
		descends(me, left - 1);
	else
		leaf(me);
	after++;
}

static int depth;

static void *thread(void *me)
{
	if (!spins)
		pin(0, 0);
	descends((long)me, depth);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 3 || pipe(pipes[0]) || pipe(pipes[1]))
		return 2;
	spins = argv[1][0] == 's';
	depth = atoi(argv[2]);
	ready(getpid(), getpid());
	for (long me = 0; me < 2; me++)
		pthread_create(&threads[me], NULL, thread, (void *)me);
	pthread_join(threads[0], NULL);
	return 0;
}
