/*
 * A thread that in turn runs, sleeps, waits for its CPU and is preempted there, until standard
 * input ends; meant to share CPU 0 with a hog.
 *
 * usage: mixes
 *
 * Prints "ready PID TID".
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "frames.h"

static volatile int worker_tid;

static void *work(void *unused)
{
	(void)unused;
	worker_tid = syscall(SYS_gettid);
	pin(0, 0);
	for (unsigned int i = 0;; i++) {
		spin(i % 7 * 1000000);
		sleep_here(i % 5 * 1000000);
		if (i % 3 == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL))
		return 2;
	while (!worker_tid)
		usleep(1000);
	ready(getpid(), worker_tid);
	return 0;
}
