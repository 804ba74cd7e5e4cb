/*
 * System calls of known kinds and numbers.
 *
 * usage: calls KIND COUNT
 *
 * Prints "ready PID TID". At the first byte on standard input it makes COUNT calls: KIND "missing"
 * opens a file that is not there, "asleep" sleeps for COUNT milliseconds in one call, "compat"
 * makes 32-bit calls of getppid (x86), "forks" makes processes that end at once, "thread-forks" as
 * many in a second thread, too, which is TID, "compat-forks" the same as "forks" with 32-bit calls,
 * "together" opens a file that is not there in two threads at the same time, "compat-waits" waits
 * as "waits" does, by a 32-bit call, "signals" returns from signal handlers, "minus-one" asks for a
 * call that there is not, "null" opens a path that cannot be read, "compat-missing" opens a file
 * that is not there by 32-bit calls, and "compat-missing-at" by such calls of openat, "compat-six"
 * makes 32-bit calls of mmap2 that fail: of two pages at 0x11000, for descriptor 77 and its sixth
 * page, "compat-execve" executes a file that is not there by 32-bit calls, with the arguments
 * "first" and "second", "read-only" writes to a file that it opened to read, "seeks" wants to seek
 * in standard input, "threads" opens a file that is not there in a thread of its own each time,
 * whose name is another one. "waits" waits in pause() for good, in a second thread. "first-ends"
 * calls getppid in a second thread, once the first one has ended. Then prints "done COUNT", and
 * "asleep" how long it slept by its own clock, in ns. Ends at the next byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

static pthread_barrier_t together;

/* Where 32-bit calls can point. */
#ifdef __x86_64__
#define LOW MAP_32BIT
#else
#define LOW 0
#endif

static void *wait_for_good(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *open_together(void *count)
{
	pthread_barrier_wait(&together);
	for (long i = 0; i < (long)count; i++)
		open("/no/such/file", O_RDONLY);
	return NULL;
}

static void *open_missing(void *unused)
{
	prctl(PR_SET_NAME, "opens-missing");
	open("/no/such/file", O_RDONLY);
	return unused;
}

/* All that is done after the byte, when the first thread is a zombie. */
static void *go_on_alone(void *count)
{
	char path[64], state[256] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	while (!strstr(state, ") Z ")) {
		int file = open(path, O_RDONLY);
		ssize_t size = read(file, state, sizeof(state) - 1);

		close(file);
		if (size < 0)
			exit(2);
		state[size] = 0;
	}
	for (long i = 0; i < (long)count; i++)
		syscall(SYS_getppid);
	printf("done %ld\n", (long)count);
	exit(stay());
}

static pid_t forker;

static void make_child(void)
{
	if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
		_exit(0);
}

static void *make_children(void *count)
{
	forker = syscall(SYS_gettid);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	for (long i = 0; i < (long)count; i++)
		make_child();
	return NULL;
}

static void handler(int number)
{
	(void)number;
}

/* arch/x86/entry/syscalls/syscall_32.tbl */
#define COMPAT_EXIT    1
#define COMPAT_FORK    2
#define COMPAT_OPEN    5
#define COMPAT_EXECVE  11
#define COMPAT_PAUSE   29
#define COMPAT_GETPPID 64
#define COMPAT_MMAP2   192
#define COMPAT_OPENAT  295

static long compat(long number, long first)
{
#ifdef __x86_64__
	long result = number;

	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(first), "c"(0)
			 : "r8", "r9", "r10", "r11", "memory");
	return result;
#else
	return number + first;
#endif
}

/* No 32-bit program has these, and the kernel takes them away. */
#define UPPER_HALF (0x5a5aL << 32)

/* The same with six arguments; the last one is where the frame pointer is. */
static long compat_six(long number, const long *all)
{
#ifdef __x86_64__
	register long last __asm__("r12") = all[5] | UPPER_HALF;
	long result = number;

	__asm__ volatile("xchg %%rbp, %%r12\n\tint $0x80\n\txchg %%rbp, %%r12"
			 : "+a"(result), "+r"(last)
			 : "b"(all[0] | UPPER_HALF), "c"(all[1] | UPPER_HALF),
			   "d"(all[2] | UPPER_HALF), "S"(all[3] | UPPER_HALF),
			   "D"(all[4] | UPPER_HALF)
			 : "r8", "r9", "r10", "r11", "memory");
	return result;
#else
	return number + all[0];
#endif
}

/* Of the path at `low`; behind it, the list of pointers has 32 bits each. */
static long compat_execve(char *low)
{
	char *first = low + 64, *second = low + 80;
	unsigned *list = (unsigned *)(low + 128);

	strcpy(first, "first");
	strcpy(second, "second");
	list[0] = (long)first;
	list[1] = (long)second;
	list[2] = 0;
	return compat_six(COMPAT_EXECVE, (long[6]){(long)low, (long)list});
}

static void *wait_for_good_narrowly(void *unused)
{
	for (;;)
		compat(COMPAT_PAUSE, 0);
	return unused;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;
	struct timespec time = {count / 1000, count % 1000 * 1000000};
	unsigned long long slept_ns = 0;
	pthread_t thread;
	int file = open(argv[0], O_RDONLY);
	char *low =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | LOW, -1, 0);

	if (file < 0 || low == MAP_FAILED)
		return 2;
	strcpy(low, "/no/such/low");
	signal(SIGUSR1, handler);
	forker = getpid();
	if (!strcmp(kind, "thread-forks")) {
		if (pthread_barrier_init(&together, NULL, 2) ||
		    pthread_create(&thread, NULL, make_children, (void *)count))
			return 2;
		pthread_barrier_wait(&together);
	}
	ready(getpid(), forker);
	if (!strcmp(kind, "thread-forks"))
		pthread_barrier_wait(&together);
	if (!strcmp(kind, "asleep")) {
		unsigned long long began_ns = now_ns();

		if (nanosleep(&time, NULL))
			return 2;
		slept_ns = now_ns() - began_ns;
	}
	if (!strcmp(kind, "first-ends")) {
		if (pthread_create(&thread, NULL, go_on_alone, (void *)count))
			return 2;
		pthread_exit(NULL);
	}
	if (!strcmp(kind, "waits") && pthread_create(&thread, NULL, wait_for_good, NULL))
		return 2;
	if (!strcmp(kind, "compat-waits") &&
	    pthread_create(&thread, NULL, wait_for_good_narrowly, NULL))
		return 2;
	if (!strcmp(kind, "together")) {
		if (pthread_barrier_init(&together, NULL, 2) ||
		    pthread_create(&thread, NULL, open_together, (void *)count))
			return 2;
		open_together((void *)count);
		pthread_join(thread, NULL);
	}
	for (long i = 0; i < count; i++) {
		if (!strcmp(kind, "missing") && open("/no/such/file", O_RDONLY) >= 0)
			return 2;
		if (!strcmp(kind, "null") && open((const char *)8, O_RDONLY) >= 0)
			return 2;
		if (!strcmp(kind, "compat-missing") && compat(COMPAT_OPEN, (long)low) >= 0)
			return 2;
		if (!strcmp(kind, "compat-missing-at") &&
		    compat_six(COMPAT_OPENAT, (long[6]){AT_FDCWD, (long)low}) >= 0)
			return 2;
		if (!strcmp(kind, "compat-six") &&
		    compat_six(COMPAT_MMAP2, (long[6]){0x11000, 8192, PROT_READ | PROT_WRITE,
						       MAP_PRIVATE, 77, 5}) >= 0)
			return 2;
		if (!strcmp(kind, "compat-execve") && compat_execve(low) >= 0)
			return 2;
		if (!strcmp(kind, "read-only") && write(file, "x", 1) >= 0)
			return 2;
		if (!strcmp(kind, "seeks") && lseek(STDIN_FILENO, 0, SEEK_SET) >= 0)
			return 2;
		if (!strcmp(kind, "threads")) {
			if (pthread_create(&thread, NULL, open_missing, NULL))
				return 2;
			pthread_join(thread, NULL);
		}
		if (!strcmp(kind, "compat"))
			compat(COMPAT_GETPPID, 0);
		if (!strcmp(kind, "compat-forks") && !compat(COMPAT_FORK, 0))
			compat(COMPAT_EXIT, 0);
		if (!strcmp(kind, "minus-one"))
			syscall(-1);
		if (!strcmp(kind, "signals") && raise(SIGUSR1))
			return 2;
		if (!strcmp(kind, "forks") || !strcmp(kind, "thread-forks"))
			make_child();
	}
	if (!strcmp(kind, "thread-forks"))
		pthread_join(thread, NULL);
	while (wait(NULL) > 0)
		;
	if (slept_ns)
		printf("done %ld %llu\n", count, slept_ns);
	else
		printf("done %ld\n", count);
	return stay();
}
