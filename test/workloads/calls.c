/*
 * System calls of known kinds and numbers.
 *
 * usage: calls KIND COUNT
 *
 * Prints "ready PID TID". At the first byte on standard input it makes COUNT calls: KIND "missing"
 * opens a file that is not there, "asleep" sleeps for COUNT milliseconds in one call, "compat"
 * makes 32-bit calls of getppid (x86), "forks" makes processes that end at once, "signals" returns
 * from signal handlers. "waits" waits in pause() for good, in a second thread. Then prints
 * "done COUNT", and ends at the next byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

static void *wait_for_good(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void handler(int number)
{
	(void)number;
}

static void compat_getppid(void)
{
#ifdef __x86_64__
	long result = 64; /* arch/x86/entry/syscalls/syscall_32.tbl */

	__asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory");
#endif
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;
	struct timespec time = {count / 1000, count % 1000 * 1000000};
	pthread_t thread;

	signal(SIGUSR1, handler);
	ready(getpid(), getpid());
	if (!strcmp(kind, "asleep") && nanosleep(&time, NULL))
		return 2;
	if (!strcmp(kind, "waits") && pthread_create(&thread, NULL, wait_for_good, NULL))
		return 2;
	for (long i = 0; i < count; i++) {
		if (!strcmp(kind, "missing") && open("/no/such/file", O_RDONLY) >= 0)
			return 2;
		if (!strcmp(kind, "compat"))
			compat_getppid();
		if (!strcmp(kind, "signals") && raise(SIGUSR1))
			return 2;
		if (!strcmp(kind, "forks") && !syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
			_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("done %ld\n", count);
	return stay();
}
