/* What the workloads share. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* What the kernel counted for a thread: Documentation/scheduler/sched-stats.rst. */
struct schedstat {
	unsigned long long run_ns, delay_ns, waits;
};

static inline struct schedstat read_schedstat(int tid)
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

static inline unsigned long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static inline void spin(unsigned long long time_ns)
{
	unsigned long long begin = now_ns();

	while (now_ns() - begin < time_ns)
		;
}

/* One page a fault. Real-time kernels know of no others. Returns whether it is so. */
static inline int small_pages(void *from, unsigned long bytes)
{
	return madvise(from, bytes, MADV_NOHUGEPAGE) == 0 || errno == EINVAL;
}

/* Keeps a thread, 0 for the caller, to one CPU. */
static inline void pin(pid_t tid, int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(tid, sizeof(cpus), &cpus))
		exit(2);
}

/* The state letter of a thread of this process: proc(5), /proc/PID/stat. */
static inline char state_of(int tid)
{
	char path[64], stat[256] = {0};
	char *name_end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file || fread(stat, 1, sizeof(stat) - 1, file) == 0)
		exit(2);
	fclose(file);
	name_end = strrchr(stat, ')');
	return name_end ? name_end[2] : 0;
}

/* Tells the test that the workload is there, and waits until it is told to begin. */
static inline void ready(int pid, int tid)
{
	char byte;

	printf("ready %d %d\n", pid, tid);
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		exit(2);
}

/* After "done …" has been printed: stays until it is told to end. */
static inline int stay(void)
{
	char byte;

	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0 ? 2 : 0;
}

#endif
