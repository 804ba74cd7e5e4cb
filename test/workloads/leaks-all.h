/* KIND "all" of leaks.c: each way to allocate, in a function of its own; see test/live/leaks.ts. */
#ifndef LEAKS_ALL_H
#define LEAKS_ALL_H

#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define IN_STACKS __attribute__((noinline, used))
#define PAGE	  4096UL
#define HUGE_SIZE ((size_t)1 << 60)

/* What is put here may be used by anybody, for all the compiler knows. */
static void *volatile kept;

#define TIMES(count) for (int i = 0; i < (count); i++)

/* Calls that are not the last thing, so that the caller has a frame. */
#define KEEP(pointer)                                                                              \
	do {                                                                                       \
		kept = (pointer);                                                                  \
		if (!kept)                                                                         \
			exit(3);                                                                   \
	} while (0)

IN_STACKS static void leak_small(void)
{
	TIMES(997) KEEP(malloc(100));
}

IN_STACKS static void leak_large(void)
{
	TIMES(31) KEEP(malloc(4096));
}

IN_STACKS static void leak_calloc(void)
{
	TIMES(13) KEEP(calloc(7, 30));
}

IN_STACKS static void leak_realloc(void)
{
	TIMES(11) KEEP(realloc(malloc(10), 5000));
	TIMES(11) KEEP(realloc(NULL, 40));
}

IN_STACKS static void leak_shrunk(void)
{
	TIMES(17) KEEP(realloc(malloc(100), 90));
}

IN_STACKS static void leak_reallocarray(void)
{
	TIMES(7) KEEP(reallocarray(malloc(10), 20, 25));
}

IN_STACKS static void leak_posix_memalign(void)
{
	TIMES(5)
	{
		void *pointer = NULL;

		if (posix_memalign(&pointer, 64, 300))
			exit(3);
		KEEP(pointer);
	}
}

IN_STACKS static void leak_aligned_alloc(void)
{
	TIMES(6) KEEP(aligned_alloc(64, 640));
}

IN_STACKS static void leak_memalign(void)
{
	TIMES(8) KEEP(memalign(256, 130));
}

IN_STACKS static void leak_valloc(void)
{
	TIMES(9) KEEP(valloc(1000));
}

IN_STACKS static void leak_pvalloc(void)
{
#ifdef __GLIBC__
	TIMES(10) KEEP(pvalloc(1001));
#endif
}

/* Failed, realloc frees nothing. */
IN_STACKS static void leak_unmoved(void)
{
	TIMES(3)
	{
		KEEP(malloc(333));
		if (realloc(kept, HUGE_SIZE))
			exit(3);
	}
}

static void *map_pages(int pages)
{
	void *pages_at = mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages_at == MAP_FAILED)
		exit(3);
	return pages_at;
}

IN_STACKS static void leak_mapping(void)
{
	TIMES(3)
	{
		KEEP(mmap(NULL, 5 * PAGE - 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		if (munmap(kept, 2 * PAGE))
			exit(3);
	}
}

IN_STACKS static void leak_moved_mapping(void)
{
	TIMES(4) KEEP(mremap(map_pages(1), PAGE, 4 * PAGE, MREMAP_MAYMOVE));
}

IN_STACKS static void leak_shrunk_mapping(void)
{
	TIMES(2) KEEP(mremap(map_pages(8), 8 * PAGE, 2 * PAGE, 0));
}

IN_STACKS static void free_everything(void)
{
	TIMES(500)
	{
		void *aligned = NULL;

		KEEP(malloc(i));
		free(kept);
		KEEP(realloc(calloc(3, i + 1), 2 * i + 1));
		free(realloc(kept, 0));
		if (posix_memalign(&aligned, 32, 100))
			exit(3);
		free(aligned);
		KEEP(aligned_alloc(32, 64));
		free(kept);
		KEEP(map_pages(3));
		if (munmap(kept, 3 * PAGE))
			exit(3);
		free(NULL);
	}
}

IN_STACKS static void fail_everywhere(void)
{
	void *unchanged = (void *)&kept;
	volatile size_t huge = HUGE_SIZE;

	if (malloc(huge) || calloc(huge, 16) || calloc(huge, 3) || realloc(NULL, huge) ||
	    reallocarray(NULL, huge, 32) || aligned_alloc(64, huge) || memalign(64, huge))
		exit(3);
	if (!posix_memalign(&unchanged, 3, 100) || !posix_memalign(&unchanged, 64, huge))
		exit(3);
	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		exit(3);
	if (mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) != MAP_FAILED)
		exit(3);
}

IN_STACKS static void leak_all(void)
{
	leak_small();
	leak_large();
	leak_calloc();
	leak_realloc();
	leak_shrunk();
	leak_reallocarray();
	leak_posix_memalign();
	leak_aligned_alloc();
	leak_memalign();
	leak_valloc();
	leak_pvalloc();
	leak_unmoved();
	leak_mapping();
	leak_moved_mapping();
	leak_shrunk_mapping();
	fail_everywhere();
	free_everything();
}

#endif
