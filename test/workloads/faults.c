/*
 * Touches new pages, each once.
 *
 * usage: faults PAGES
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. In touch_pages it writes
 * to so many pages that it never had; then prints "done FAULTS", what the kernel counted there, and
 * ends at the next byte.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>

#include "frames.h"

#define PAGE_BYTES 4096

IN_STACKS static void touch_pages(volatile char *pages, long count)
{
	for (long i = 0; i < count; i++)
		pages[i * PAGE_BYTES] = 1;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	struct rusage before, after;
	char *pages;

	pages = mmap(NULL, count * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	/* One page a fault. */
	if (pages == MAP_FAILED || !small_pages(pages, count * PAGE_BYTES))
		return 2;
	ready(getpid(), getpid());
	getrusage(RUSAGE_SELF, &before);
	touch_pages(pages, count);
	getrusage(RUSAGE_SELF, &after);
	printf("done %ld\n", after.ru_minflt - before.ru_minflt);
	return stay();
}
