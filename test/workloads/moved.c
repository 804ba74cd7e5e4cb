/*
 * A thread that waits on one CPU, and is then moved to another, where it runs at once.
 *
 * usage: moved COUNT [new]
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Each time: a real-time
 * thread occupies CPU 0, the worker is woken there and must wait, and after a while is moved to
 * CPU 1. Then prints "done LEAST_NS DELAY_NS WAITING ALL_NS": how long the worker waited on CPU 0
 * at least, by our own clock, all in all; what the kernel counted (schedstat); how often it waited
 * still as it was moved; and the kernel's count with one time slice more. Ends at the next byte.
 *
 * With "new" the worker is a new thread each time, which the real-time thread begins on CPU 0, and
 * moves before it has ever run. Then DELAY_NS and ALL_NS are how long it was until the workers were
 * seen to run, by our own clock, all in all.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "workload.h"

#define WAIT_NS 5000000

static sem_t wake, hog_begin;
static volatile int worker_tid, hogging, worker_ran;

static void *work(void *unused)
{
	(void)unused;
	worker_tid = syscall(SYS_gettid);
	for (;;) {
		sem_wait(&wake);
		worker_ran = 1;
	}
	return NULL;
}

static void *hog(void *unused)
{
	struct sched_param param = {.sched_priority = 1};

	(void)unused;
	pin(0, 0);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		exit(3);
	for (;;) {
		sem_wait(&hog_begin);
		hogging = 1;
		while (hogging)
			;
	}
	return NULL;
}

static void *run_once(void *unused)
{
	(void)unused;
	worker_ran = 1;
	return NULL;
}

static int move_new_ones(long count)
{
	struct sched_param param = {.sched_priority = 1};
	unsigned long long least = 0, most = 0, before, begun;
	long waiting = 0;
	cpu_set_t other;
	pthread_t thread;

	CPU_ZERO(&other);
	CPU_SET(1, &other);
	ready(getpid(), getpid());
	pin(0, 0);
	/* Its threads are no real-time threads. */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		return 3;
	for (long i = 0; i < count; i++) {
		worker_ran = 0;
		before = now_ns();
		if (pthread_create(&thread, NULL, run_once, NULL))
			return 2;
		begun = now_ns();
		spin(WAIT_NS);
		if (!worker_ran) {
			least += now_ns() - begun;
			waiting++;
		}
		if (pthread_setaffinity_np(thread, sizeof(other), &other))
			return 2;
		while (!worker_ran)
			usleep(100);
		most += now_ns() - before;
		pthread_join(thread, NULL);
	}
	printf("done %llu %llu %ld %llu\n", least, most, waiting, most);
	return stay();
}

int main(int argc, char **argv)
{
	unsigned long long least = 0, before, delay, woken;
	long count = argc > 1 ? atol(argv[1]) : 0, waiting = 0;
	pthread_t thread;

	if (argc > 2)
		return move_new_ones(count);
	sem_init(&wake, 0, 0);
	sem_init(&hog_begin, 0, 0);
	pin(0, 1);
	if (pthread_create(&thread, NULL, work, NULL) || pthread_create(&thread, NULL, hog, NULL))
		return 2;
	while (!worker_tid)
		usleep(1000);
	ready(getpid(), worker_tid);
	before = read_schedstat(worker_tid).delay_ns;
	for (long i = 0; i < count; i++) {
		pin(worker_tid, 0);
		worker_ran = 0;
		sem_post(&hog_begin);
		while (!hogging)
			;
		sem_post(&wake);
		woken = now_ns();
		spin(WAIT_NS);
		/* The scheduler lets a starved thread have some of a real-time thread's time. */
		if (!worker_ran) {
			least += now_ns() - woken;
			waiting++;
		}
		pin(worker_tid, 1);
		while (!worker_ran)
			usleep(100);
		hogging = 0;
		usleep(2000);
	}
	delay = read_schedstat(worker_tid).delay_ns - before;
	/* One more time slice: it shows that the one before was not traced. */
	worker_ran = 0;
	sem_post(&wake);
	while (!worker_ran)
		usleep(100);
	printf("done %llu %llu %ld %llu\n", least, delay, waiting,
	       read_schedstat(worker_tid).delay_ns - before);
	return stay();
}
