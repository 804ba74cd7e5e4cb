/*
 * A thread that is woken a known number of times.
 *
 * usage: wakeups COUNT [apart]
 *
 * Prints "ready PID TID". At the first byte on standard input a second thread begins to wake the
 * worker, COUNT times, each time when it is seen to sleep, and keeps it waiting for 20 us as a
 * realtime task, which nobody else on its CPU preempts, if it may become one. With "apart" the two
 * have a CPU each, where the worker is the realtime task, and is not kept waiting. Then prints
 * "done WAITS DELAY_NS", what the kernel itself counted for the worker
 * (/proc/self/task/TID/schedstat), and ends at the next byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "workload.h"

static int ping[2], pong[2];
static bool apart;
static volatile int worker_tid;

/* How long the worker waits each time, at least: 20 us. */
#define KEEP_WAITING_NS 20000

/* Waits until the worker sleeps; its state is the third field of /proc/self/task/TID/stat. */
static void await_sleep(int stat)
{
	char text[128], *name_end;

	for (;;) {
		ssize_t n = pread(stat, text, sizeof(text) - 1, 0);

		if (n <= 0)
			exit(2);
		text[n] = 0;
		name_end = strrchr(text, ')');
		if (name_end && name_end[2] == 'S')
			return;
		usleep(20);
	}
}

/* Without the right to it nothing changes, and waits may be shorter. */
static void be(int policy)
{
	struct sched_param param = {.sched_priority = policy == SCHED_FIFO};

	sched_setscheduler(0, policy, &param);
}

static void *work(void *unused)
{
	char byte;

	(void)unused;
	worker_tid = syscall(SYS_gettid);
	if (apart)
		pin(0, 1);
	/* Else so that it does not preempt its waker where that one may not be a realtime task. */
	be(apart ? SCHED_FIFO : SCHED_BATCH);
	while (write(pong[1], "x", 1) == 1 && read(ping[0], &byte, 1) == 1)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	struct schedstat before, after;
	pthread_t thread;
	char byte, path[64];
	int stat;

	apart = argc > 2 && !strcmp(argv[2], "apart");
	/* Both on one CPU, so that the one who is woken has to wait for the other. */
	pin(0, 0);
	if (pipe(ping) || pipe(pong) || pthread_create(&thread, NULL, work, NULL))
		return 2;
	if (read(pong[0], &byte, 1) != 1)
		return 2;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", worker_tid);
	stat = open(path, O_RDONLY);
	if (stat < 0)
		return 2;
	ready(getpid(), worker_tid);
	before = read_schedstat(worker_tid);
	for (long i = 0; i < count; i++) {
		await_sleep(stat);
		if (!apart)
			be(SCHED_FIFO);
		if (write(ping[1], "x", 1) != 1)
			return 2;
		if (!apart) {
			spin(KEEP_WAITING_NS);
			be(SCHED_OTHER);
		}
		if (read(pong[0], &byte, 1) != 1)
			return 2;
	}
	/* It may have been kept from sleeping, and be so still. */
	await_sleep(stat);
	after = read_schedstat(worker_tid);
	printf("done %llu %llu\n", after.waits - before.waits, after.delay_ns - before.delay_ns);
	return stay();
}
