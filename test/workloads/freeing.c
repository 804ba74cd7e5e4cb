/*
 * Threads whose first call of the allocator frees what another one allocated; each then maps memory
 * itself, in two ways.
 *
 * usage: freeing
 *
 * Prints "ready PID TID" when its threads are there, and begins at the first byte on standard
 * input. Then prints "done", and ends at the next byte. What stays is in test/live/leaks.ts.
 *
 * Compiled with LIBRARY it is libfreeing.so, to be preloaded: an allocator with its own mmap, whose
 * free maps memory. Before that it asks the kernel for something else. On x86-64, the kernel gets a
 * fourth argument in r10, and functions do not: there it never looks like the flags of what is
 * mapped next.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "frames.h"

#define PAGE 4096UL

#ifdef LIBRARY

#define ARENA_BYTES  (4UL << 20)
#define HEADER_BYTES 16UL

static _Alignas(16) char arena[ARENA_BYTES];
static size_t used;

/* Its size is in front of it. Nothing is used twice. */
void *malloc(size_t size)
{
	size_t whole = HEADER_BYTES + ((size + HEADER_BYTES - 1) & -HEADER_BYTES);
	size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);

	if (size > ARENA_BYTES || at + whole > ARENA_BYTES)
		return NULL;
	*(size_t *)(arena + at) = size;
	return arena + at + HEADER_BYTES;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *old, size_t size)
{
	void *new = malloc(size);
	size_t had = old ? *(size_t *)((char *)old - HEADER_BYTES) : 0;

	if (new && had)
		memcpy(new, old, had < size ? had : size);
	return new;
}

/* Has to be called by free, too, as it is the call that is probed. */
IN_STACKS void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	long result = call_kernel6(SYS_mmap, (long)at, bytes, protection, flags, file, offset);

	return result < 0 && result > -(long)PAGE ? MAP_FAILED : (void *)result;
}

void free(void *pointer)
{
	static void *volatile kept;

	if (!pointer)
		return;
	call_kernel(SYS_getpid, 0, 0, 0, 0);
	kept = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	call_kernel(SYS_getpid, 0, 0, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK);
	kept = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept == MAP_FAILED)
		__builtin_trap();
}

#else

#define THREADS 4
#define ROUNDS	50

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

#endif
