/*
 * A process that waits for another one, which waits, or computes, meanwhile.
 *
 * usage: chain naps|computes|relays|syncs|convoy COUNT [FOLDER]
 *
 * "reader", the process itself, reads a byte COUNT times, from a pipe that "writer" writes to:
 * - naps: writer sleeps for 20 ms in doze() before each byte
 * - computes: it is busy for 20 ms in compute()
 * - relays: it waits, on a unix socket, for "source", which sleeps for 20 ms in doze()
 * - syncs: the same, but source writes a file in FOLDER to the disk, in sync_file()
 * With convoy, threads "one" to "four" take a mutex in turn with "slow", which sleeps for 20 ms in
 * doze() while it has the mutex, COUNT times.
 *
 * Prints "ready READER WRITER" and begins at the first byte on standard input. Prints "done NS",
 * how long the last one in the row has slept, computed or synced in all; ends at the next byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "workload.h"

#define WORK_NS 20000000
#define QUICK	4
#define BYTES	(1 << 16)

static const char *way;
static long count;
static int bytes[2], begin[2], hops[2], file = -1;
static unsigned long long *worked_ns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

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

static __attribute__((noinline)) void compute(int to)
{
	spin(WORK_NS);
	must(write(to, "x", 1) == 1);
	__asm__ volatile("");
}

static __attribute__((noinline)) void sync_file(void)
{
	static char data[BYTES];

	for (int i = 0; i < 8; i++)
		must(pwrite(file, data, sizeof(data), i * BYTES) == BYTES && fdatasync(file) == 0);
	__asm__ volatile("");
}

static void work(int to)
{
	unsigned long long start = now_ns();

	if (is("computes")) {
		compute(to);
	} else {
		if (is("syncs"))
			sync_file();
		else
			doze();
		must(write(to, "x", 1) == 1);
	}
	*worked_ns += now_ns() - start;
}

static __attribute__((noinline)) void receive(int from)
{
	char byte;

	must(read(from, &byte, 1) == 1);
	__asm__ volatile("");
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

static void run_source(void)
{
	receive(begin[0]);
	for (long i = 0; i < count; i++)
		work(hops[0]);
}

static void run_writer(void)
{
	int is_last = is("naps") || is("computes");

	if (is_last)
		receive(begin[0]);
	for (long i = 0; i < count; i++) {
		if (is_last) {
			work(bytes[1]);
		} else {
			receive(hops[1]);
			must(write(bytes[1], "x", 1) == 1);
		}
	}
}

/* All of them want the mutex while slow has it. */
static void *take_turns(void *name)
{
	prctl(PR_SET_NAME, name);
	for (long i = 0; i < count; i++) {
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void convoy(void)
{
	static char *names[QUICK] = {"one", "two", "three", "four"};
	pthread_t threads[QUICK];
	unsigned long long start;

	pthread_barrier_init(&barrier, NULL, QUICK + 1);
	for (int i = 0; i < QUICK; i++)
		must(pthread_create(&threads[i], NULL, take_turns, names[i]) == 0);
	prctl(PR_SET_NAME, "slow");
	ready(getpid(), getpid());
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&barrier);
		start = now_ns();
		doze();
		*worked_ns += now_ns() - start;
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
	pid_t writer, source = 0;

	must(argc >= 3);
	way = argv[1];
	count = atol(argv[2]);
	worked_ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(worked_ns != MAP_FAILED);
	if (is("convoy")) {
		convoy();
		printf("done %llu\n", *worked_ns);
		return stay();
	}
	if (argc > 3)
		open_file(argv[3]);
	must(pipe(bytes) == 0 && pipe(begin) == 0);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, hops) == 0);
	writer = child("writer", run_writer);
	if (is("relays") || is("syncs"))
		source = child("source", run_source);
	prctl(PR_SET_NAME, "reader");
	ready(getpid(), writer);
	must(write(begin[1], "x", 1) == 1);
	for (long i = 0; i < count; i++)
		receive(bytes[0]);
	printf("done %llu\n", *worked_ns);
	stay();
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	if (source) {
		kill(source, SIGKILL);
		waitpid(source, NULL, 0);
	}
	return 0;
}
