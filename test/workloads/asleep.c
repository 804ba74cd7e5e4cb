/*
 * A thread that is moved to another CPU as soon as it has gone to sleep.
 *
 * usage: asleep COUNT
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Each time the worker uses
 * up its slice on CPU 0, beside a process that keeps that CPU busy, and goes to sleep, where since
 * 6.12 it may stay on the run queue for a while; is moved to CPU 1; and is woken 10 ms later.
 * Then prints "done SLEPT_NS DELAY_NS": how long it slept after being moved, all in all, and what
 * the kernel booked as waiting (schedstat). Ends at the next byte.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS	 6000000
#define SLEEP_NS 10000000

static sem_t wake;
static volatile int worker_tid, asleep_soon;

static unsigned long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void spin(unsigned long long time_ns)
{
	unsigned long long begin = now_ns();

	while (now_ns() - begin < time_ns)
		;
}

static void pin(pid_t tid, int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(tid, sizeof(cpus), &cpus))
		exit(2);
}

static unsigned long long delay_ns(int tid)
{
	unsigned long long delay = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%*u %llu", &delay) != 1)
		exit(2);
	fclose(file);
	return delay;
}

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
	char byte;

	sem_init(&wake, 0, 0);
	pin(0, 1);
	if (pthread_create(&thread, NULL, work, NULL))
		return 2;
	while (!worker_tid)
		usleep(1000);
	printf("ready %d %d\n", getpid(), worker_tid);
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		return 2;
	before = delay_ns(worker_tid);
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
	printf("done %llu %llu\n", slept, delay_ns(worker_tid) - before);
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
