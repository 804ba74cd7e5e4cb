/* What the programs share whose stacks are hard to walk. All their functions on the way are t_…,
 * and each is in the way that the test knows. */
#ifndef TORTURE_H
#define TORTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, used))
/* Keeps a call from becoming a jump. */
#define AND_RETURN __asm__ volatile("" ::: "memory")
#define NAP_NS	   1000000

/* Else threads wait, again and again. */
extern int t_spinning;
/* Never; compilers do not know that. */
extern volatile int t_done;

/* One wait, or some time on the CPU, of which the vdso has a share. */
FUNCTION static void t_once(void)
{
	struct timespec nap = {0, NAP_NS}, time;

	if (!t_spinning)
		nanosleep(&nap, NULL);
	else
		for (int i = 0; i < 20000; i++)
			clock_gettime(CLOCK_MONOTONIC, &time);
	AND_RETURN;
}

FUNCTION static void t_leaf(void)
{
	while (!t_done)
		t_once();
}

#endif
