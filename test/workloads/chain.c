/*
 * A process that waits for another one, which waits, or computes, meanwhile.
 *
 * usage: chain naps|computes|queues|relays|syncs|convoy COUNT [FOLDER]
 *
 * "reader", the process itself, asks for a byte COUNT times, and reads it from a pipe that "writer"
 * writes to:
 * - naps: writer sleeps for 20 ms in doze() before each byte
 * - computes: it is busy for 20 ms in compute()
 * - queues: the same, on CPU 1, where another process, "hog", is busy all the time
 * - relays: it waits, on a unix socket, for "source", which sleeps for 20 ms in doze()
 * - syncs: the same, but source writes a file in FOLDER to the disk, in sync_file()
 * With convoy, threads "one" to "four" take a mutex in turn with "slow", which sleeps for 20 ms in
 * doze() while it has the mutex and all of them wait for it, COUNT times.
 *
 * Prints "ready READER WRITER" and begins at the first byte on standard input. Prints "done NS RUN
 * DELAY LATE ASKED", how long the last one in the row has slept, computed or synced in all, what of
 * that it ran and waited for a CPU, how long reader was not blocked, and how long it took from
 * where it asks to where it has read, in ns; ends at the next byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

#define WORK_NS 20000000
#define QUICK	4
#define BYTES	(1 << 16)
#define SYNCS	40

static const char *way;
static long count;
static int bytes[2], begin[2], hops[2], file = -1;
/* Of the last one in the row: see "done". */
static struct worked {
	unsigned long long all_ns, run_ns, delay_ns;
} *worked;
static unsigned long long answered_ns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
/* Of the threads of the convoy; 0: it is not about to take the mutex. */
static atomic_int about_to_take[QUICK];

static int is(const char *name)
{
	return strcmp(way, name) == 0;
}

static void must(int works)
{
	if (!works)
		exit(2);
}

static __attribute__((noinline)) void doze(void)
{
	struct timespec nap = {.tv_nsec = WORK_NS};

	must(nanosleep(&nap, NULL) == 0);
	__asm__ volatile("");
}

/* Who is woken may run at once, or wait: either is no work of ours. */
static void answer(int to)
{
	answered_ns = now_ns();
	must(write(to, "x", 1) == 1);
}

static __attribute__((noinline)) void compute(int to)
{
	spin(WORK_NS);
	answer(to);
	__asm__ volatile("");
}

static __attribute__((noinline)) void sync_file(void)
{
	static char data[BYTES];

	for (int i = 0; i < SYNCS; i++)
		must(pwrite(file, data, sizeof(data), i * BYTES) == BYTES && fdatasync(file) == 0);
	__asm__ volatile("");
}

static __attribute__((noinline)) void receive(int from)
{
	char byte;

	must(read(from, &byte, 1) == 1);
	__asm__ volatile("");
}

static void work(int to)
{
	static struct schedstat before;
	struct schedstat after;
	unsigned long long start;

	if (!worked->all_ns)
		before = read_schedstat(getpid());

	receive(begin[0]);
	start = now_ns();
	if (is("computes") || is("queues")) {
		compute(to);
	} else {
		if (is("syncs"))
			sync_file();
		else
			doze();
		answer(to);
	}
	after = read_schedstat(getpid());
	worked->all_ns += answered_ns - start;
	worked->run_ns = after.run_ns - before.run_ns;
	worked->delay_ns = after.delay_ns - before.delay_ns;
}

/* A process that runs `run`, and is killed with this one. */
static pid_t child(const char *name, void (*run)(void))
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	run();
	pause();
	exit(0);
}

/* Only who is at the other end has it. */
static void drop(int first, int second)
{
	must(close(first) == 0 && close(second) == 0);
}

static void run_source(void)
{
	drop(bytes[0], bytes[1]);
	drop(hops[1], begin[1]);
	for (long i = 0; i < count; i++)
		work(hops[0]);
}

static void run_writer(void)
{
	int is_last = is("naps") || is("computes") || is("queues");

	drop(bytes[0], hops[0]);
	drop(begin[1], is_last ? hops[1] : begin[0]);
	if (is("queues"))
		pin(0, 1);
	for (long i = 0; i < count; i++) {
		if (is_last) {
			work(bytes[1]);
		} else {
			receive(hops[1]);
			must(write(bytes[1], "x", 1) == 1);
		}
	}
}

static void run_hog(void)
{
	pin(0, 1);
	for (;;)
		;
}

/* All of them want the mutex while slow has it. */
static void *take_turns(void *number)
{
	static const char *names[QUICK] = {"one", "two", "three", "four"};
	long me = (long)number;

	prctl(PR_SET_NAME, names[me]);
	for (long i = 0; i < count; i++) {
		pthread_barrier_wait(&barrier);
		atomic_store(&about_to_take[me], syscall(SYS_gettid));
		pthread_mutex_lock(&mutex);
		atomic_store(&about_to_take[me], 0);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void until_all_wait(void)
{
	for (int i = 0; i < QUICK; i++) {
		while (!atomic_load(&about_to_take[i]))
			sched_yield();
		while (state_of(atomic_load(&about_to_take[i])) != 'S')
			sched_yield();
	}
}

static void convoy(void)
{
	pthread_t threads[QUICK];
	unsigned long long start;

	pthread_barrier_init(&barrier, NULL, QUICK + 1);
	for (long i = 0; i < QUICK; i++)
		must(pthread_create(&threads[i], NULL, take_turns, (void *)i) == 0);
	prctl(PR_SET_NAME, "slow");
	ready(getpid(), getpid());
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&barrier);
		until_all_wait();
		start = now_ns();
		doze();
		worked->all_ns += now_ns() - start;
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	for (int i = 0; i < QUICK; i++)
		pthread_join(threads[i], NULL);
}

static void open_file(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/synced", folder);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(file >= 0);
}

int main(int argc, char **argv)
{
	struct schedstat after, before;
	unsigned long long start, asked_ns = 0;
	pid_t writer, other = 0;

	must(argc >= 3);
	way = argv[1];
	count = atol(argv[2]);
	worked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(worked != MAP_FAILED);
	if (is("convoy")) {
		convoy();
		printf("done %llu\n", worked->all_ns);
		return stay();
	}
	if (argc > 3)
		open_file(argv[3]);
	must(pipe(bytes) == 0 && pipe(begin) == 0);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, hops) == 0);
	writer = child("writer", run_writer);
	if (is("relays") || is("syncs"))
		other = child("source", run_source);
	if (is("queues"))
		other = child("hog", run_hog);
	drop(bytes[1], begin[0]);
	drop(hops[0], hops[1]);
	prctl(PR_SET_NAME, "reader");
	ready(getpid(), writer);
	before = read_schedstat(getpid());
	for (long i = 0; i < count; i++) {
		start = now_ns();
		must(write(begin[1], "x", 1) == 1);
		receive(bytes[0]);
		asked_ns += now_ns() - start;
	}
	after = read_schedstat(getpid());
	printf("done %llu %llu %llu %llu %llu\n", worked->all_ns, worked->run_ns, worked->delay_ns,
	       after.run_ns + after.delay_ns - before.run_ns - before.delay_ns, asked_ns);
	stay();
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	if (other) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	return 0;
}
