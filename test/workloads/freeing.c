/*
 * Threads whose first call of the allocator frees what another one allocated; each then maps memory
 * itself, in two ways.
 *
 * usage: freeing
 *
 * Prints "ready PID TID" when its threads are there, and begins at the first byte on standard
 * input. Then prints "done", and ends at the next byte. What stays is in test/live/leaks.ts.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define IN_STACKS __attribute__((noinline, used))
#define PAGE	  4096UL
#define THREADS	  4
#define ROUNDS	  50

static pthread_barrier_t begin, end;
static void *blocks[THREADS][ROUNDS];
static void *volatile kept;

static void map(int pages)
{
	kept = mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept == MAP_FAILED)
		exit(3);
}

/* Further down the stack than what maps memory later. */
IN_STACKS static void free_deep(void *block, int depth)
{
	volatile char room[64];

	room[0] = depth;
	if (depth > 0)
		free_deep(block, depth - 1);
	else
		free(block);
	room[1] = room[0];
}

/* From where free was called. */
IN_STACKS static void map_after_free(void *block)
{
	free(block);
	map(3);
}

/* Free's return address is still on the stack, in a frame that is hardly written to. */
IN_STACKS static void map_over_free(void)
{
	volatile char room[8192];

	room[0] = 1;
	map(5);
	room[1] = room[0];
}

static void *work(void *own)
{
	void **mine = own;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i += 2) {
		free_deep(mine[i], i % 7);
		map_over_free();
		map_after_free(mine[i + 1]);
	}
	pthread_barrier_wait(&end);
	pause();
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&begin, NULL, THREADS + 1);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		for (int j = 0; j < ROUNDS; j++)
			blocks[i][j] = malloc(5000);
		if (pthread_create(&thread, NULL, work, blocks[i]))
			exit(2);
	}
	ready(getpid(), getpid());
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	printf("done\n");
	return stay();
}
