/*
 * A thread that is woken a known number of times.
 *
 * usage: wakeups COUNT
 *
 * Prints "ready PID TID". At the first byte on standard input a second thread begins to wake the
 * worker, COUNT times, each time when it is seen to sleep, and keeps it waiting for 20 us. Then
 * prints "done WAITS DELAY_NS", what the kernel itself counted for the worker
 * (/proc/self/task/TID/schedstat), and ends at the next byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int ping[2], pong[2];
static volatile int worker_tid;

/* How long the worker waits each time, at least: 20 us. */
#define KEEP_WAITING_NS 20000

struct schedstat {
	unsigned long long run_ns, delay_ns, waits;
};

static unsigned long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static struct schedstat read_schedstat(int tid)
{
	struct schedstat stat = {0};
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu %llu %llu", &stat.run_ns, &stat.delay_ns, &stat.waits) != 3)
		exit(2);
	fclose(file);
	return stat;
}

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

static void *work(void *unused)
{
	struct sched_param param = {0};
	char byte;

	(void)unused;
	worker_tid = syscall(SYS_gettid);
	/* So that it does not preempt its waker, but waits until that one sleeps. */
	if (sched_setscheduler(0, SCHED_BATCH, &param))
		exit(2);
	while (write(pong[1], "x", 1) == 1 && read(ping[0], &byte, 1) == 1)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	cpu_set_t cpus;
	long count = argc > 1 ? atol(argv[1]) : 0;
	struct schedstat before, after;
	unsigned long long woken;
	pthread_t thread;
	char byte, path[64];
	int stat;

	/* Both on one CPU, so that the one who is woken has to wait for the other. */
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 2;
	if (pipe(ping) || pipe(pong) || pthread_create(&thread, NULL, work, NULL))
		return 2;
	if (read(pong[0], &byte, 1) != 1)
		return 2;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", worker_tid);
	stat = open(path, O_RDONLY);
	if (stat < 0)
		return 2;
	printf("ready %d %d\n", getpid(), worker_tid);
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		return 2;
	before = read_schedstat(worker_tid);
	for (long i = 0; i < count; i++) {
		await_sleep(stat);
		if (write(ping[1], "x", 1) != 1)
			return 2;
		woken = now_ns();
		while (now_ns() - woken < KEEP_WAITING_NS)
			;
		if (read(pong[0], &byte, 1) != 1)
			return 2;
	}
	after = read_schedstat(worker_tid);
	printf("done %llu %llu\n", after.waits - before.waits, after.delay_ns - before.delay_ns);
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
