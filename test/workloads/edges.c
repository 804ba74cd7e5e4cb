/*
 * Threads that wait as tracing begins, or ends, or both.
 *
 * usage: edges
 *
 * Prints "ready PID TID", TID that of a thread that waits in woken_in_between until the first byte
 * on standard input, and in asleep_from_then_on afterwards. Another one waits in asleep_throughout.
 * Prints "done OTHER_TID" when all wait again; ends at the next byte.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>

#include "frames.h"

static unsigned int go, never;
static volatile int woken_tid, other_tid;

IN_STACKS static void woken_in_between(void)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		call_kernel(SYS_futex, (long)&go, FUTEX_WAIT_PRIVATE, 0, 0);
}

IN_STACKS static void asleep_from_then_on(void)
{
	for (;;)
		call_kernel(SYS_futex, (long)&never, FUTEX_WAIT_PRIVATE, 0, 0);
}

IN_STACKS static void asleep_throughout(void)
{
	for (;;)
		call_kernel(SYS_futex, (long)&never, FUTEX_WAIT_PRIVATE, 0, 0);
}

static void *be_woken(void *unused)
{
	woken_tid = syscall(SYS_gettid);
	woken_in_between();
	asleep_from_then_on();
	return unused;
}

static void *sleep_on(void *unused)
{
	other_tid = syscall(SYS_gettid);
	asleep_throughout();
	return unused;
}

/* Its state is the third field of /proc/self/task/TID/stat; no name here has a ")". */
static void await_sleep(int tid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	while (state != 'S') {
		file = fopen(path, "r");
		if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			exit(2);
		fclose(file);
		usleep(1000);
	}
}

int main(void)
{
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, be_woken, NULL) ||
	    pthread_create(&threads[1], NULL, sleep_on, NULL))
		return 2;
	while (!woken_tid || !other_tid)
		usleep(1000);
	await_sleep(woken_tid);
	await_sleep(other_tid);
	ready(getpid(), woken_tid);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	usleep(1500000); /* so that what tracing takes to begin and end is little beside it */
	await_sleep(woken_tid);
	printf("done %d\n", other_tid);
	return stay();
}
