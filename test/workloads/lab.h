/*
 * What the workloads of the latency lab share: processes in one known trouble each.
 *
 * Each of them is started as `NAME TROUBLE SEED [FOLDER]`. The seed decides durations, numbers of
 * threads and their order. It prints "ready PID TID" and begins at the first byte on standard
 * input. From then on its threads go round and round, so that any window has the same truth, until
 * the next byte. Then it prints "done WALL RUN DELAY GUILTY OTHER", in ns, each a sum over all
 * threads but the first one, which only waits for these bytes: how long they were there, what of
 * that they ran and were runnable without a CPU, how long they were in the guilty function, and in
 * the other one of which the trouble tells.
 */
#ifndef LAB_H
#define LAB_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

#define MSEC	     1000000ULL
#define USEC	     1000ULL
#define MOST_THREADS 256
#define MOST_HELPERS 4
/* A function that a test looks for in stacks: it stays in them, under its own name. */
#define TELLING __attribute__((noinline))
/* At the end of such a function: what it called last was no tail call. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

struct thread {
	const char *name;
	/* What it does again and again. */
	void (*round)(struct thread *thread);
	/* Others need it to come to an end: it ends after them. */
	int serves;
	unsigned long long guilty_ns, other_ns;
	/* Written by it at its end. */
	unsigned long long wall_ns;
	struct schedstat stat;
	pthread_t id;
};

static struct thread threads[MOST_THREADS];
static int thread_count;
/* 1: all but those that serve others come to their end; 2: these, too. */
static atomic_int over;
/* Wakes threads that wait for what only comes from outside, after `over` has been written. */
static void (*at_end)(void);
static pid_t helpers[MOST_HELPERS];
static int helper_count;
static unsigned long long seed, random_state;
static const char *lab_folder = "/nowhere";

static inline void must_at(int works, const char *file, int line)
{
	if (works)
		return;
	fprintf(stderr, "%s:%d: ", file, line);
	perror("");
	exit(2);
}
#define must(works) must_at(!!(works), __FILE__, __LINE__)

/* A number that the seed decides, both ends included: splitmix64. */
static inline unsigned int between(unsigned int low, unsigned int high)
{
	unsigned long long mixed = random_state += 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
	return low + (mixed ^ (mixed >> 31)) % (high - low + 1);
}

/* Inlined: a wait is in the function that has this one. */
static inline __attribute__((always_inline)) void sleep_ns(unsigned long long time_ns)
{
	struct timespec time = {.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000};

	nanosleep(&time, NULL);
}

static inline void send_byte(int fd)
{
	must(write(fd, "x", 1) == 1);
}

/* Inlined, as sleep_ns() is. */
static inline __attribute__((always_inline)) void receive_byte(int fd)
{
	char byte;

	must(read(fd, &byte, 1) == 1);
}

static inline void thread_of(const char *name, void (*round)(struct thread *), int serves)
{
	must(thread_count < MOST_THREADS);
	threads[thread_count++] = (struct thread){.name = name, .round = round, .serves = serves};
}

/* A process of its own, which is ended with this one. */
static inline void helper_of(const char *name, void (*run)(void))
{
	pid_t parent = getpid(), pid = fork();

	must(pid >= 0 && helper_count < MOST_HELPERS);
	if (pid) {
		helpers[helper_count++] = pid;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	must(getppid() == parent);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	run();
	_exit(0);
}

static inline void *go_round(void *data)
{
	struct thread *self = data;
	unsigned long long begin_ns = now_ns();

	prctl(PR_SET_NAME, self->name);
	while (atomic_load(&over) <= self->serves)
		self->round(self);
	self->wall_ns = now_ns() - begin_ns;
	self->stat = read_schedstat(syscall(SYS_gettid));
	return NULL;
}

static inline void await_those(int serve)
{
	for (int i = 0; i < thread_count; i++)
		if (threads[i].serves == serve)
			must(!pthread_join(threads[i].id, NULL));
}

/* For main, when all threads and helpers are known. */
static inline int run_lab(void)
{
	unsigned long long wall_ns = 0, run_ns = 0, delay_ns = 0, guilty_ns = 0, other_ns = 0;
	int status;

	ready(getpid(), getpid());
	for (int i = 0; i < thread_count; i++)
		must(!pthread_create(&threads[i].id, NULL, go_round, &threads[i]));
	status = stay();
	atomic_store(&over, 1);
	if (at_end)
		at_end();
	await_those(0);
	atomic_store(&over, 2);
	await_those(1);
	for (int i = 0; i < helper_count; i++) {
		kill(helpers[i], SIGKILL);
		waitpid(helpers[i], NULL, 0);
	}
	for (int i = 0; i < thread_count; i++) {
		wall_ns += threads[i].wall_ns;
		run_ns += threads[i].stat.run_ns;
		delay_ns += threads[i].stat.delay_ns;
		guilty_ns += threads[i].guilty_ns;
		other_ns += threads[i].other_ns;
	}
	printf("done %llu %llu %llu %llu %llu\n", wall_ns, run_ns, delay_ns, guilty_ns, other_ns);
	return status;
}

struct trouble {
	const char *name;
	/* Draws what the seed decides, and says which threads and helpers there are. */
	void (*set_up)(void);
};

static inline int lab_main(int argc, char **argv, const struct trouble *troubles)
{
	if (argc < 3)
		return 2;
	random_state = seed = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		lab_folder = argv[3];
	for (; troubles->name; troubles++) {
		if (strcmp(troubles->name, argv[1]))
			continue;
		troubles->set_up();
		return run_lab();
	}
	return 2;
}

#endif
