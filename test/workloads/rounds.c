/*
 * Does as many things as it is told, each time it is told.
 *
 * usage: rounds
 *
 * Prints "ready PID TID". At each line "N LONG_MS" on standard input: sleeps N times for a moment,
 * and once for LONG_MS milliseconds; opens a file N times that is not there; reads 10 bytes N
 * times by pread; allocates 1000 bytes N times in allocate_here, having freed those of the last
 * round; maps and touches N pages in map_here; works in between. Then prints "done N LONGEST_NS":
 * how long the longest of the sleeps was by its own clock. Ends with standard input.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "frames.h"

#define PAGE_BYTES 4096L
#define MOST	   1000
#define MOMENT_NS  100000
#define WORK_NS	   20000

static void *kept[MOST];

IN_STACKS static void allocate_here(long count)
{
	for (long i = 0; i < MOST; i++) {
		free(kept[i]);
		kept[i] = NULL;
	}
	for (long i = 0; i < count; i++) {
		kept[i] = malloc(1000);
		*(volatile char *)kept[i] = 1;
	}
}

IN_STACKS static void map_here(long count)
{
	volatile char *pages = mmap(NULL, count * PAGE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		exit(2);
	small_pages((void *)pages, count * PAGE_BYTES);
	for (long i = 0; i < count; i++)
		pages[i * PAGE_BYTES] = 1;
}

static unsigned long long nap(long ns)
{
	struct timespec time = {ns / 1000000000, ns % 1000000000};
	unsigned long long began_ns = now_ns();

	nanosleep(&time, NULL);
	return now_ns() - began_ns;
}

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	long count, long_ms;
	char line[64], bytes[10];

	ready(getpid(), getpid());
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long long longest_ns = 0;

		if (sscanf(line, "%ld %ld", &count, &long_ms) != 2 || count > MOST)
			return 2;
		for (long i = 0; i <= count; i++) {
			unsigned long long nap_ns;

			spin(WORK_NS);
			nap_ns = nap(i < count ? MOMENT_NS : long_ms * 1000000);
			if (nap_ns > longest_ns)
				longest_ns = nap_ns;
		}
		for (long i = 0; i < count; i++) {
			if (open("/no/such/file", O_RDONLY) >= 0)
				return 2;
			if (pread(zero, bytes, sizeof(bytes), 0) != sizeof(bytes))
				return 2;
		}
		allocate_here(count);
		map_here(count);
		printf("done %ld %llu\n", count, longest_ns);
		fflush(stdout);
	}
	return 0;
}
