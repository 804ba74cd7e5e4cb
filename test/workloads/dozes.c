/*
 * Threads that were moved to another CPU as they had gone to sleep, and sleep on.
 *
 * usage: dozes COUNT
 *
 * Each thread runs on CPU 0, ahead of a process that keeps that CPU busy, and goes to sleep before
 * that one has had its share, so that since 6.12 it stays on the run queue for a while; meanwhile
 * it is moved to CPU 1. When all sleep: prints "ready PID TID". At the first byte on standard input
 * all are woken; prints "done NS", how long it took until all of them had run. Ends at the next
 * byte.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "workload.h"

#define BUSY_NS 1000000
#define MOST	64

static struct thread {
	sem_t begin, wake;
	volatile int tid, asleep_soon, ran;
} threads[MOST];

static void *work(void *argument)
{
	struct thread *thread = argument;

	thread->tid = syscall(SYS_gettid);
	sem_wait(&thread->begin);
	pin(0, 0);
	spin(BUSY_NS);
	thread->asleep_soon = 1;
	sem_wait(&thread->wake);
	thread->ran = 1;
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	unsigned long long woken;
	pthread_t id;

	if (count > MOST)
		return 2;
	pin(0, 1);
	for (long i = 0; i < count; i++) {
		struct thread *thread = &threads[i];

		sem_init(&thread->begin, 0, 0);
		sem_init(&thread->wake, 0, 0);
		if (pthread_create(&id, NULL, work, thread))
			return 2;
		while (!thread->tid)
			usleep(1000);
		usleep(2000); /* it waits to begin, mostly */
		sem_post(&thread->begin);
		while (!thread->asleep_soon)
			;
		spin(20000); /* it sleeps by now, mostly */
		pin(thread->tid, 1);
	}
	ready(getpid(), getpid());
	woken = now_ns();
	for (long i = 0; i < count; i++)
		sem_post(&threads[i].wake);
	for (long i = 0; i < count; i++) {
		while (!threads[i].ran)
			usleep(100);
	}
	printf("done %llu\n", now_ns() - woken);
	return stay();
}
