/*
 * Grows by known amounts, in a function for each way.
 *
 * usage: grows PAGES
 *
 * Prints "ready PID TID" and begins at the first byte on standard input: touches PAGES new pages,
 * and LIBRARY_PAGES by memset, moves its break up by 5 times 3 pages (and back), maps 11 times 7
 * pages. In call_narrow it makes calls of 32-bit programs whose numbers are brk's and mmap's of
 * 64-bit ones. Then prints "done", and ends at the next byte.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "frames.h"

#define PAGE_BYTES    4096L
#define LIBRARY_PAGES 200L
#define TIMES(count)  for (int i = 0; i < (count); i++)

IN_STACKS static void grow_by_faults(volatile char *pages, long count)
{
	for (long i = 0; i < count; i++)
		pages[i * PAGE_BYTES] = 1;
}

/* The C library's code touches them, which has no frame of its own. */
IN_STACKS static void grow_in_library(char *pages, long count)
{
	memset(pages, 1, count * PAGE_BYTES);
	/* Not the last thing, so that there is a frame. */
	__asm__ volatile("" ::"r"(pages) : "memory");
}

IN_STACKS static void grow_by_brk(void)
{
	long first = call_kernel(SYS_brk, 0, 0, 0, 0), now = first;

	TIMES(5)
	{
		now = call_kernel(SYS_brk, now + 3 * PAGE_BYTES, 0, 0, 0);
		if (now <= first)
			exit(2);
	}
	/* This is no growth. */
	call_kernel(SYS_brk, first, 0, 0, 0);
}

IN_STACKS static void grow_by_mmap(void)
{
	TIMES(11)
	call_kernel6(SYS_mmap, 0, 7 * PAGE_BYTES - i, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
}

#ifdef __x86_64__
static sigjmp_buf narrow_end;

static void end_narrow(int unused)
{
	(void)unused;
	siglongjmp(narrow_end, 1);
}
#endif

IN_STACKS static void call_narrow(void)
{
#ifdef __x86_64__
	/* Some hypervisors (PVM) end who makes them. */
	signal(SIGSEGV, end_narrow);
	if (sigsetjmp(narrow_end, 1))
		return;
	/* link and chdir of nothing, with a large number where a length would be. */
	TIMES(20)
	{
		long result = i % 2 ? 9 : 12;

		__asm__ volatile("int $0x80"
				 : "+a"(result)
				 : "b"(0), "S"(1 << 30), "D"(1L << 46)
				 : "r8", "r9", "r10", "r11", "memory");
	}
#endif
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	long bytes = (count + LIBRARY_PAGES) * PAGE_BYTES;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* One page a fault. */
	if (pages == MAP_FAILED || !small_pages(pages, bytes))
		return 2;
	ready(getpid(), getpid());
	grow_by_faults(pages, count);
	grow_in_library(pages + count * PAGE_BYTES, LIBRARY_PAGES);
	grow_by_brk();
	grow_by_mmap();
	call_narrow();
	printf("done\n");
	return stay();
}
