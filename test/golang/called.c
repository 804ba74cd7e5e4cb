#include <stdint.h>
#include <time.h>

extern void goBack(void);

__attribute__((noinline)) void c_leaf(int naps)
{
	struct timespec wait = {0, 2000000}, now, begun;

	if (naps) {
		nanosleep(&wait, 0);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_nsec / 1000000 == begun.tv_nsec / 1000000);
}

__attribute__((noinline)) void c_calls(int naps)
{
	c_leaf(naps);
	__asm__ volatile("");
}

__attribute__((noinline)) void c_calls_back(void)
{
	goBack();
	__asm__ volatile("");
}
