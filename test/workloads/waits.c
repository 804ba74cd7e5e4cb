/*
 * A thread that waits in functions of known names, for as long as it says itself.
 *
 * usage: waits ROUNDS USEC
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. In each round the worker
 * waits for USEC in wait_in_nanosleep, twice as long in wait_in_pipe, three times as long in
 * wait_in_futex, and USEC again in wait_in_vfork, where it is uninterruptible. Then prints
 * "done NANOSLEEP_NS PIPE_NS FUTEX_NS VFORK_NS": the time that passed in each function and was not
 * spent on a CPU. Ends at the next byte.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>

#include "frames.h"

#define CLONE_VM_VFORK (0x100 | 0x4000)

static unsigned long long nap_ns;
static int fed[2], wanted[2];
static unsigned int word;
static long rounds;
static volatile int worker_tid;
static int begin[2], end[2];

IN_STACKS static void wait_in_nanosleep(void)
{
	sleep_here(nap_ns);
}

IN_STACKS static void wait_in_pipe(void)
{
	char byte;

	call_kernel(SYS_read, fed[0], (long)&byte, 1, 0);
}

IN_STACKS static void wait_in_futex(void)
{
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		call_kernel(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, 0);
}

/* The child has our memory, and until it ends we wait. */
IN_STACKS static void wait_in_vfork(void)
{
	if (call_kernel(SYS_clone, CLONE_VM_VFORK | SIGCHLD, 0, 0, 0) != 0)
		return;
	sleep_here(nap_ns);
	call_kernel(SYS_exit, 0, 0, 0, 0);
}

static void (*const functions[])(void) = {
	wait_in_nanosleep,
	wait_in_pipe,
	wait_in_futex,
	wait_in_vfork,
};
#define FUNCTIONS 4

static unsigned long long off_cpu_ns[FUNCTIONS];

IN_STACKS static void measure(int which)
{
	unsigned long long began_ns = now_ns(), cpu_ns = thread_cpu_ns();

	functions[which]();
	cpu_ns = thread_cpu_ns() - cpu_ns;
	off_cpu_ns[which] += now_ns() - began_ns - cpu_ns;
}

static void *work(void *unused)
{
	char byte;

	(void)unused;
	worker_tid = syscall(SYS_gettid);
	if (read(begin[0], &byte, 1) != 1)
		exit(2);
	for (long i = 0; i < rounds; i++) {
		word = 0;
		for (int which = 0; which < FUNCTIONS; which++) {
			if ((which == 1 || which == 2) && write(wanted[1], "x", 1) != 1)
				exit(2);
			measure(which);
		}
	}
	if (write(end[1], "x", 1) != 1)
		exit(2);
	/* So that its number stays. */
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	if (argc < 3)
		return 2;
	rounds = atol(argv[1]);
	nap_ns = atol(argv[2]) * 1000;
	signal(SIGCHLD, SIG_IGN);
	if (pipe(fed) || pipe(wanted) || pipe(begin) || pipe(end) ||
	    pthread_create(&thread, NULL, work, NULL))
		return 2;
	while (!worker_tid)
		usleep(1000);
	ready(getpid(), worker_tid);
	if (write(begin[1], "x", 1) != 1)
		return 2;
	for (long i = 0; i < rounds; i++) {
		if (read(wanted[0], &byte, 1) != 1)
			return 2;
		sleep_here(2 * nap_ns);
		if (write(fed[1], "x", 1) != 1 || read(wanted[0], &byte, 1) != 1)
			return 2;
		sleep_here(3 * nap_ns);
		__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	if (read(end[0], &byte, 1) != 1)
		return 2;
	printf("done %llu %llu %llu %llu\n", off_cpu_ns[0], off_cpu_ns[1], off_cpu_ns[2],
	       off_cpu_ns[3]);
	return stay();
}
