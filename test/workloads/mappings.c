/*
 * Waits with ever more mappings.
 *
 * usage: mappings COUNT
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Maps a page and waits for
 * a moment in nap_among(), COUNT times; no two of the pages are one mapping. Then prints "done
 * SLEPT", how often it did, as a moment may be over before it can; ends at the next byte.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "frames.h"

#define PAGE_BYTES 65536

/* By way of the C library, which has no frame pointers. */
IN_STACKS static void nap_among(void)
{
	struct timespec moment = {0, 1000};

	nanosleep(&moment, NULL);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	struct rusage before, later;
	int count = argc > 1 ? atoi(argv[1]) : 0;

	ready(getpid(), syscall(SYS_gettid));
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < count; i++) {
		if (mmap(NULL, PAGE_BYTES, i % 2 ? PROT_READ : PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return 3;
		nap_among();
	}
	getrusage(RUSAGE_SELF, &later);
	printf("done %ld\n", later.ru_nvcsw - before.ru_nvcsw);
	return stay();
}
