/*
 * Allocates by C++'s operators; what stays is known for each function.
 *
 * usage: news
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Then prints "done CAUGHT",
 * with how often it caught std::bad_alloc, and ends at the next byte.
 */
#include <new>

#include "workload.h"

#define IN_STACKS    __attribute__((noinline, used))
#define TIMES(count) for (int i = 0; i < (count); i++)

static void *volatile kept;
static int caught;

extern "C" {

IN_STACKS void leak_new(void)
{
	TIMES(23) kept = ::operator new(77);
}

IN_STACKS void leak_array(void)
{
	TIMES(19) kept = ::operator new[](88);
}

IN_STACKS void leak_aligned(void)
{
	TIMES(5) kept = ::operator new(192, std::align_val_t(64));
}

IN_STACKS void leak_aligned_array(void)
{
	TIMES(6) kept = ::operator new[](128, std::align_val_t(64));
}

IN_STACKS void leak_nothrow(void)
{
	TIMES(7) kept = ::operator new(55, std::nothrow);
	TIMES(7) kept = ::operator new[](65, std::nothrow);
}

/* The same block again and again; with the frame that a failed call had. */
IN_STACKS void leak_after_failure(void)
{
	volatile size_t sizes[] = {33, (size_t)1 << 60};

	TIMES(20)
	{
		try {
			kept = ::operator new(sizes[i % 2]);
		} catch (std::bad_alloc &) {
			caught++;
		}
		if (i % 4 == 3)
			kept = malloc(44);
	}
}

IN_STACKS void free_everything(void)
{
	TIMES(300)
	{
		kept = ::operator new(i);
		::operator delete(kept);
		kept = ::operator new(i);
		::operator delete(kept, (size_t)i);
		kept = ::operator new[](i + 1);
		::operator delete[](kept);
		kept = ::operator new(256, std::align_val_t(128));
		::operator delete(kept, std::align_val_t(128));
		kept = malloc(10);
		free(kept);
	}
}
}

int main()
{
	ready(getpid(), getpid());
	leak_new();
	leak_array();
	leak_aligned();
	leak_aligned_array();
	leak_nothrow();
	leak_after_failure();
	free_everything();
	printf("done %d\n", caught);
	return stay();
}
