/*
 * Threads that sleep in all kinds of functions, at the end of stacks that are not easy to walk.
 *
 * usage: sleepers [USEC]
 *
 * With USEC each wait ends after so many microseconds, and begins again. Prints "ready PID THREADS"
 * as soon as all its threads sleep, and ends at the end of standard input.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include "workload.h"

#define FUNCTION __attribute__((noinline, used))
#define FOREVER	 1000000
#define DEEP	 100
/* Deeper than any walk. */
#define TOO_DEEP 400
/* Keeps a call from becoming a jump. */
#define AND_RETURN __asm__ volatile("")

static int never[2];
/* 0: waits do not end. */
static long nap_usec;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

FUNCTION static void in_nanosleep(void)
{
	struct timespec time = {FOREVER, 0}, nap = {0, nap_usec * 1000};

	do {
		nanosleep(nap_usec ? &nap : &time, NULL);
	} while (nap_usec);
	AND_RETURN;
}

FUNCTION static void in_read(void)
{
	struct timespec nap = {0, nap_usec * 1000};
	struct itimerspec times = {nap, nap};
	char bytes[1000];
	int fd = never[0];

	if (nap_usec) {
		fd = timerfd_create(CLOCK_MONOTONIC, 0);
		timerfd_settime(fd, 0, &times, NULL);
	}
	do {
		if (read(fd, bytes, sizeof(bytes)) == sizeof(bytes))
			exit(bytes[0]);
	} while (nap_usec);
}

FUNCTION static void in_poll(void)
{
	struct pollfd fds = {.fd = never[0], .events = POLLIN};

	do {
		poll(&fds, 1, nap_usec ? (int)(nap_usec / 1000) : -1);
	} while (nap_usec);
	AND_RETURN;
}

FUNCTION static void in_condition(void)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	if (!nap_usec)
		pthread_cond_wait(&condition, &lock);
	while (nap_usec) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += nap_usec * 1000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&condition, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
}

FUNCTION static void of_any_size(int bytes)
{
	char *memory = alloca(bytes);

	memset(memory, bytes, bytes);
	in_nanosleep();
	__asm__ volatile("" : : "r"(memory) : "memory");
}

/* An aligned stack, memory of any size and arguments on the stack: gcc finds these by a register.
 */
FUNCTION static void aligned(long a, long b, long c, long d, long e, long f, long g, int bytes)
{
	char memory[256] __attribute__((aligned(256)));

	memset(memory, bytes, sizeof(memory));
	of_any_size(bytes + memory[7] + (a ^ b ^ c ^ d ^ e ^ f ^ g));
	__asm__ volatile("" : : "r"(memory), "r"(alloca(bytes)) : "memory");
}

/* More arguments than registers: they are pushed. */
FUNCTION static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	in_poll();
	return a + b + c + d + e + f + g + h + i;
}

FUNCTION static long saves_all(long n)
{
	long values[8];

	for (int i = 0; i < 8; i++)
		values[i] = n * i + (long)getpid();
	values[0] += many(values[1], values[2], values[3], values[4], values[5], 6, 7, 8, n);
	for (int i = 1; i < 8; i++)
		values[0] ^= values[i];
	return values[0];
}

static int compare(const void *a, const void *b)
{
	in_read();
	return *(const int *)a - *(const int *)b;
}

/* Through a function of the C library's that calls back. */
FUNCTION static void sorts(void)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, 3, sizeof(int), compare);
	AND_RETURN;
}

FUNCTION static long recurses(int depth)
{
	volatile long local = depth;

	if (depth == 0)
		in_nanosleep();
	else
		local += recurses(depth - 1);
	return local + 1;
}

static void handle(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	in_condition();
	AND_RETURN;
}

/*
 * Its last instruction is the call: the return address is in the next function. Its own frame is
 * found by the register that `aligned` has saved.
 */
FUNCTION static __attribute__((noreturn)) void never_returns(int bytes)
{
	char *memory = alloca(bytes);

	memset(memory, bytes, bytes);
	__asm__ volatile("" : : "r"(memory) : "memory");
	aligned(1, 2, 3, 4, 5, 6, 7, 100);
	abort();
}

FUNCTION static void signalled(void)
{
	for (;;)
		__asm__ volatile("" : : : "memory");
}

FUNCTION static void signalled_in_call(void)
{
	raise(SIGUSR1);
	AND_RETURN;
}

static void *nanosleeps(void *unused)
{
	in_nanosleep();
	return unused;
}

static void *never_ends(void *unused)
{
	(void)unused;
	never_returns(100);
}

static void *pushes(void *unused)
{
	return (void *)saves_all((long)unused);
}

static void *calls_back(void *unused)
{
	sorts();
	return unused;
}

static void *goes_deep(void *unused)
{
	return (void *)(recurses(DEEP) + (long)unused);
}

static void *goes_too_deep(void *unused)
{
	return (void *)(recurses(TOO_DEEP) + (long)unused);
}

static void *is_signalled(void *unused)
{
	signalled();
	return unused;
}

static void *signals_itself(void *unused)
{
	stack_t stack = {.ss_size = 1 << 16};

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	signalled_in_call();
	return unused;
}

static void *(*const functions[])(void *) = {
	nanosleeps, never_ends,	   pushes,	 calls_back,
	goes_deep,  goes_too_deep, is_signalled, signals_itself,
};
#define THREADS (int)(sizeof(functions) / sizeof(functions[0]))

/* Whether all threads of this process but the first one sleep. */
static int all_sleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int asleep = 0;

	while ((task = readdir(tasks))) {
		char path[300], line[512], *end;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		file = fopen(path, "r");
		if (file && fgets(line, sizeof(line), file) && (end = strrchr(line, ')')))
			asleep += end[2] == 'S';
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return asleep == THREADS;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	pthread_t threads[THREADS];
	char byte;

	nap_usec = argc > 1 ? atol(argv[1]) : 0;
	if (pipe(never))
		return 2;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, functions[i], NULL))
			return 2;
		/* Somewhere in its loop, or on its way there. */
		if (functions[i] == is_signalled)
			pthread_kill(threads[i], SIGUSR1);
	}
	while (!all_sleep())
		sched_yield();
	printf("ready %d %d\n", getpid(), THREADS + 1);
	fflush(stdout);
	return read(0, &byte, 1) > 0;
}
