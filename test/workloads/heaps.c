/*
 * Four allocators in one process, and leaks from each that are known for each function.
 *
 * usage: LD_PRELOAD=libheaps.so heaps
 *
 * The program has one of its own, je_malloc and so on, and uses the C library's as well. Compiled
 * with LIBRARY it is libheaps.so, whose je_malloc and malloc are for itself alone, as a plugin's
 * are. Prints "ready PID TID" and begins at the first byte on standard input; makes the leaks of
 * test/live/leaks.ts, and frees as much; then prints "done", and ends at the next byte.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Nobody else's calls come here: who defines malloc for all has the C library's calls, too. */
#define OWN	  __attribute__((noinline, used, visibility("hidden")))
#define IN_STACKS __attribute__((noinline, used))

#define TIMES(count) for (int i = 0; i < (count); i++)

/* What is put here may be used by anybody, for all the compiler knows. */
static void *volatile kept;

/* Calls that are not the last thing, so that the caller has a frame. */
#define KEEP(pointer)                                                                              \
	do {                                                                                       \
		kept = (pointer);                                                                  \
		if (!kept)                                                                         \
			__builtin_trap();                                                          \
	} while (0)

/* An allocator that calls nobody: blocks from an array, and those that were freed last first. */
struct block {
	size_t size;
	struct block *next; /* where it is free; else the first bytes of what it holds */
};

#define ARENA_BYTES  (1 << 20)
#define HEADER_BYTES 16

struct heap {
	_Alignas(16) char bytes[ARENA_BYTES];
	size_t used;
	struct block *unused;
};

static inline void *take(struct heap *heap, size_t size)
{
	size_t whole = HEADER_BYTES + ((size + 15) & -16UL);
	struct block *block;

	for (struct block **at = &heap->unused; *at; at = &(*at)->next) {
		block = *at;
		if (block->size < size)
			continue;
		*at = block->next;
		return (char *)block + HEADER_BYTES;
	}
	if (size > ARENA_BYTES || heap->used + whole > ARENA_BYTES)
		return NULL;
	block = (struct block *)(heap->bytes + heap->used);
	heap->used += whole;
	block->size = size;
	return (char *)block + HEADER_BYTES;
}

static inline struct block *block_of(void *pointer)
{
	return (struct block *)((char *)pointer - HEADER_BYTES);
}

static inline void give(struct heap *heap, void *pointer)
{
	struct block *block = pointer ? block_of(pointer) : NULL;

	if (!block)
		return;
	block->next = heap->unused;
	heap->unused = block;
}

static inline void *change(struct heap *heap, void *old, size_t size)
{
	void *pointer = old;

	if (!old || block_of(old)->size < size)
		pointer = take(heap, size);
	if (old && pointer && pointer != old) {
		memcpy(pointer, old, block_of(old)->size);
		give(heap, old);
	}
	return pointer;
}

#define ALLOCATOR(prefix)                                                                          \
	static struct heap prefix##heap;                                                           \
	OWN void *prefix##malloc(size_t size)                                                      \
	{                                                                                          \
		return take(&prefix##heap, size);                                                  \
	}                                                                                          \
	OWN void *prefix##calloc(size_t count, size_t size)                                        \
	{                                                                                          \
		size_t bytes = count * size;                                                       \
		void *pointer = take(&prefix##heap, bytes);                                        \
                                                                                                   \
		return pointer ? memset(pointer, 0, bytes) : NULL;                                 \
	}                                                                                          \
	OWN void *prefix##realloc(void *old, size_t size)                                          \
	{                                                                                          \
		return change(&prefix##heap, old, size);                                           \
	}                                                                                          \
	OWN void prefix##free(void *pointer)                                                       \
	{                                                                                          \
		give(&prefix##heap, pointer);                                                      \
	}

/* Leaks by each function of an allocator; `more` makes those of one differ from another's. */
#define LEAKS(whose, prefix, more)                                                                 \
	IN_STACKS static void whose##_malloc(void)                                                 \
	{                                                                                          \
		TIMES(50 + (more)) KEEP(prefix##malloc(100));                                      \
	}                                                                                          \
	IN_STACKS static void whose##_calloc(void)                                                 \
	{                                                                                          \
		TIMES(20 + (more)) KEEP(prefix##calloc(7, 30));                                    \
	}                                                                                          \
	IN_STACKS static void whose##_realloc(void)                                                \
	{                                                                                          \
		TIMES(10 + (more)) KEEP(prefix##realloc(prefix##malloc(10), 500));                 \
		TIMES(10 + (more)) KEEP(prefix##realloc(NULL, 40));                                \
		TIMES(10 + (more)) KEEP(prefix##realloc(prefix##malloc(100), 90));                 \
	}                                                                                          \
	/* Failed, realloc frees nothing. */                                                       \
	IN_STACKS static void whose##_unmoved(void)                                                \
	{                                                                                          \
		TIMES(3 + (more))                                                                  \
		{                                                                                  \
			KEEP(prefix##malloc(333));                                                 \
			if (prefix##realloc(kept, (size_t)1 << 60))                                \
				__builtin_trap();                                                  \
		}                                                                                  \
	}                                                                                          \
	IN_STACKS static void whose##_frees(void)                                                  \
	{                                                                                          \
		TIMES(100)                                                                         \
		{                                                                                  \
			KEEP(prefix##malloc(i + 1));                                               \
			prefix##free(kept);                                                        \
			KEEP(prefix##realloc(prefix##calloc(3, i + 1), 5 * i + 1));                \
			prefix##free(kept);                                                        \
			prefix##free(NULL);                                                        \
		}                                                                                  \
	}                                                                                          \
	static void whose##_all(void)                                                              \
	{                                                                                          \
		whose##_malloc();                                                                  \
		whose##_calloc();                                                                  \
		whose##_realloc();                                                                 \
		whose##_unmoved();                                                                 \
		whose##_frees();                                                                   \
	}

ALLOCATOR(je_)
#ifdef LIBRARY

ALLOCATOR()
LEAKS(library_je, je_, 1)
LEAKS(library_own, , 2)

/* What the program looks up. */
void leak_in_library(void);
void leak_in_library(void)
{
	library_je_all();
	library_own_all();
}

#else
#include "workload.h"

LEAKS(program_je, je_, 3)
LEAKS(program_libc, , 4)

int main(void)
{
	void (*leak_in_library)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "leak_in_library");

	if (!leak_in_library)
		return 2;
	ready(getpid(), getpid());
	program_je_all();
	program_libc_all();
	leak_in_library();
	printf("done\n");
	return stay();
}
#endif
