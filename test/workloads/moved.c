/*
 * A thread that waits on one CPU, and is then moved to another, where it runs at once.
 *
 * usage: moved COUNT
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. Each time: a real-time
 * thread occupies CPU 0, the worker is woken there and must wait, and after a while is moved to
 * CPU 1. Then prints "done LEAST_NS DELAY_NS": how long the worker waited on CPU 0 at least, by
 * our own clock, all in all; and what the kernel counted (schedstat). Ends at the next byte.
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

#define WAIT_NS 5000000

static sem_t wake, hog_begin;
static volatile int worker_tid, hogging, worker_ran;

static unsigned long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
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

int main(int argc, char **argv)
{
	unsigned long long least = 0, before, woken;
	long count = argc > 1 ? atol(argv[1]) : 0;
	pthread_t thread;
	char byte;

	sem_init(&wake, 0, 0);
	sem_init(&hog_begin, 0, 0);
	pin(0, 1);
	if (pthread_create(&thread, NULL, work, NULL) || pthread_create(&thread, NULL, hog, NULL))
		return 2;
	while (!worker_tid)
		usleep(1000);
	printf("ready %d %d\n", getpid(), worker_tid);
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		return 2;
	before = delay_ns(worker_tid);
	for (long i = 0; i < count; i++) {
		pin(worker_tid, 0);
		worker_ran = 0;
		sem_post(&hog_begin);
		while (!hogging)
			;
		sem_post(&wake);
		woken = now_ns();
		while (now_ns() - woken < WAIT_NS)
			;
		least += now_ns() - woken;
		pin(worker_tid, 1);
		while (!worker_ran)
			usleep(100);
		hogging = 0;
		usleep(2000);
	}
	printf("done %llu %llu\n", least, delay_ns(worker_tid) - before);
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
