/*
 * A thread that is moved to another CPU as soon as it has gone to sleep.
 *
 * usage: asleep COUNT
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Each time the worker runs
 * on CPU 0, ahead of a process that keeps that CPU busy, and goes to sleep before that one has had
 * its share, so that since 6.12 it stays on the run queue for a while; is moved to CPU 1; and is
 * woken 10 ms later.
 * Then prints "done SLEPT_NS DELAY_NS": how long it slept after being moved, all in all, and what
 * the kernel counted as waiting (schedstat). Ends at the next byte.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "workload.h"

#define BUSY_NS	 1000000
#define SLEEP_NS 10000000

static sem_t wake;
static volatile int worker_tid, asleep_soon;

static void *work(void *unused)
{
	(void)unused;
	worker_tid = syscall(SYS_gettid);
	for (;;) {
		sem_wait(&wake);
		pin(0, 0);
		spin(BUSY_NS);
		asleep_soon = 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long long slept = 0, before, moved;
	long count = argc > 1 ? atol(argv[1]) : 0;
	pthread_t thread;

	sem_init(&wake, 0, 0);
	pin(0, 1);
	if (pthread_create(&thread, NULL, work, NULL))
		return 2;
	while (!worker_tid)
		usleep(1000);
	ready(getpid(), worker_tid);
	before = read_schedstat(worker_tid).delay_ns;
	for (long i = 0; i < count; i++) {
		asleep_soon = 0;
		sem_post(&wake);
		while (!asleep_soon)
			;
		spin(20000); /* it is in sem_wait by now, mostly */
		pin(worker_tid, 1);
		moved = now_ns();
		usleep(SLEEP_NS / 1000);
		slept += now_ns() - moved;
	}
	sem_post(&wake); /* so that the last wait ends, too */
	usleep(SLEEP_NS / 100);
	printf("done %llu %llu\n", slept, read_schedstat(worker_tid).delay_ns - before);
	return stay();
}
