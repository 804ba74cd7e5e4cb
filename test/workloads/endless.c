/*
 * An allocator that some of its calls never return from.
 *
 * usage: endless CALLS
 *
 * Has je_malloc and so on of its own. Prints "ready PID TID". At each byte on standard input it
 * calls je_malloc CALLS times with a size that it jumps out of (longjmp), and then once with one
 * that it returns from, so that the jumps show. Prints "done" each time, ends with standard input.
 */
#define _GNU_SOURCE
#include <setjmp.h>

#include "workload.h"

#define OWN	     __attribute__((noinline, used))
#define TOO_LARGE    (1UL << 40)
#define MEMORY_BYTES (1 << 20)

static jmp_buf out;
static char memory[MEMORY_BYTES];
static size_t used;

OWN void *je_malloc(size_t size)
{
	void *at = memory + used;

	if (size >= TOO_LARGE)
		longjmp(out, 1);
	used += (size + 15) & -16UL;
	return used > MEMORY_BYTES ? NULL : at;
}

OWN void je_free(void *at)
{
	__asm__ volatile("" : : "r"(at) : "memory");
}

OWN void *je_calloc(size_t count, size_t size)
{
	return je_malloc(count * size);
}

OWN void *je_realloc(void *at, size_t size)
{
	je_free(at);
	return je_malloc(size);
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 0;
	char byte = 'x';

	ready(getpid(), getpid());
	for (ssize_t got = 1; got == 1; got = read(STDIN_FILENO, &byte, 1)) {
		for (volatile long i = 0; i < calls; i++) {
			if (!setjmp(out) && je_malloc(TOO_LARGE))
				return 2;
		}
		if (!je_malloc(100))
			return 2;
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
