/*
 * Unmaps parts of mappings, and maps over others; what stays is known for each function.
 *
 * usage: cuts
 *
 * Prints "ready PID TID", begins at the first byte on standard input, makes what CUTS of
 * test/live/leaks.ts says, prints "done", and ends at the next byte.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "frames.h"

#define PAGE	     4096L
#define TIMES(count) for (int i = 0; i < (count); i++)
#define HOW	     (MAP_PRIVATE | MAP_ANONYMOUS)

static char *map_pages(int pages)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ, HOW, -1, 0);

	if (at == MAP_FAILED)
		exit(3);
	return at;
}

static void map_over(char *at, int pages)
{
	if (mmap(at, pages * PAGE, PROT_READ, HOW | MAP_FIXED, -1, 0) != at)
		exit(3);
}

/* How whoever needs aligned pages gets them: 3 of 8 stay. */
IN_STACKS static void leak_aligned_pages(void)
{
	TIMES(7)
	{
		char *pages = map_pages(8);

		munmap(pages, 2 * PAGE);
		munmap(pages + 5 * PAGE, 3 * PAGE);
	}
}

/* Its end and its middle are not there when others are mapped: 4 of 16 stay. */
IN_STACKS static void leak_cut_pages(void)
{
	char *pages = map_pages(16);

	munmap(map_pages(1), PAGE);
	munmap(pages + 14 * PAGE, 2 * PAGE);
	munmap(pages + 2 * PAGE, 10 * PAGE);
}

/* 5 of 20 are somebody else's then. */
IN_STACKS static char *leak_reserved_pages(void)
{
	return map_pages(20);
}

IN_STACKS static void leak_pages_within(char *reserved)
{
	map_over(reserved + 8 * PAGE, 5);
}

/* The same from the beginning on: 14 of 20 stay. */
IN_STACKS static char *leak_rest_of_pages(void)
{
	return map_pages(20);
}

IN_STACKS static void leak_pages_in_front(char *reserved)
{
	map_over(reserved, 6);
}

/* Of the reservation nothing stays but what was mapped over it. */
IN_STACKS static char *reserve_around(void)
{
	return map_pages(12);
}

IN_STACKS static void leak_pages_in_the_middle(char *reserved)
{
	map_over(reserved + 4 * PAGE, 6);
	munmap(reserved, 4 * PAGE);
	munmap(reserved + 10 * PAGE, 2 * PAGE);
}

/* The kernel frees whole pages, whatever the length says: 5 of 8 stay. */
IN_STACKS static void leak_beside_a_byte(void)
{
	TIMES(3)
	{
		char *pages = map_pages(8);

		munmap(pages + 5 * PAGE, 2 * PAGE + 1);
	}
}

/* From both sides, and more than once from each: 4 of 16 stay. */
IN_STACKS static void leak_after_steps(void)
{
	TIMES(3)
	{
		char *pages = map_pages(16);

		munmap(pages + 14 * PAGE, 2 * PAGE);
		munmap(pages + 10 * PAGE, 4 * PAGE);
		munmap(pages, 1 * PAGE);
		munmap(pages + 9 * PAGE, 1 * PAGE);
		munmap(pages + 1 * PAGE, 3 * PAGE);
		munmap(pages + 8 * PAGE, 1 * PAGE);
	}
}

/* And maps whole pages: 3 for 2 and a bit. */
IN_STACKS static void leak_more_than_asked(void)
{
	TIMES(2)
	if (mmap(NULL, 2 * PAGE + 7, PROT_READ, HOW, -1, 0) == MAP_FAILED)
		exit(3);
}

/* All of it is freed, by lengths that lack a byte. */
IN_STACKS static void free_all_but_a_byte(void)
{
	munmap(map_pages(4), 4 * PAGE - 1);
	munmap(map_pages(1), 1);
}

/* Both go with one call. */
IN_STACKS static void free_neighbours(void)
{
	char *pages = map_pages(4);

	munmap(pages + 2 * PAGE, 2 * PAGE);
	map_over(pages + 2 * PAGE, 2);
	munmap(pages, 4 * PAGE);
}

int main(void)
{
	ready(getpid(), getpid());
	leak_aligned_pages();
	leak_pages_within(leak_reserved_pages());
	leak_pages_in_front(leak_rest_of_pages());
	leak_pages_in_the_middle(reserve_around());
	free_neighbours();
	leak_beside_a_byte();
	leak_after_steps();
	leak_more_than_asked();
	free_all_but_a_byte();
	/* Last: nothing may be mapped where its middle was. */
	leak_cut_pages();
	printf("done\n");
	return stay();
}
