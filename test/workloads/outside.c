/*
 * Connections that nobody takes, or asks for.
 *
 * usage: outside full|nobody COUNT
 *
 * - full: "server", a process, listens, takes no connection, and can keep no more of them. "client"
 *   tries COUNT times for 50 ms each, in try_to_connect(); its thread "stays" does not give up
 * - nobody: thread "taker" would take a connection at 0.0.0.0, in take(), for COUNT times 50 ms
 *
 * Prints "ready PID SERVER", and begins at the first byte on standard input. Prints "done NS PORT
 * BUSY_NS": how long it has tried, or waited, since a thread began to that still does; the port
 * where somebody listens; and for how long of that it had a CPU, or waited for one. Ends at the
 * next byte.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

#define TRY_MS 50

static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t size = sizeof(address);
static long count;
static int listener;
static atomic_int waiting_tid;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(2);
}
#define MUST(what) must((what), #what)

static void listen_at(in_addr_t where, int backlog)
{
	address.sin_addr.s_addr = htonl(where);
	address.sin_port = 0;
	MUST((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	MUST(!bind(listener, (void *)&address, size) && !listen(listener, backlog));
	MUST(!getsockname(listener, (void *)&address, &size));
}

/* A process that does that, and is killed with this one. */
static pid_t child(const char *name, void (*run)(void))
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	run();
	for (;;)
		pause();
}

static void until_blocked(void)
{
	while (!atomic_load(&waiting_tid) || state_of(atomic_load(&waiting_tid)) != 'S')
		sched_yield();
}

static void begin_thread(void *(*run)(void *))
{
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, run, NULL));
	until_blocked();
}

static __attribute__((noinline)) int try_to_connect(int fd)
{
	int result = connect(fd, (void *)&address, size);

	__asm__ volatile("");
	return result;
}

static void *stay_outside(void *unused)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)unused;
	prctl(PR_SET_NAME, "stays");
	atomic_store(&waiting_tid, syscall(SYS_gettid));
	try_to_connect(fd);
	return NULL;
}

static void nothing(void)
{
}

static pid_t make_full(void)
{
	struct timeval limit = {.tv_usec = TRY_MS * 1000};
	pid_t server;
	int fd;

	listen_at(INADDR_LOOPBACK, 0);
	server = child("server", nothing);
	close(listener);
	do {
		MUST((fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
		MUST(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
	} while (!connect(fd, (void *)&address, size));
	close(fd);
	prctl(PR_SET_NAME, "client");
	return server;
}

static unsigned long long knock(void)
{
	struct timeval limit = {.tv_usec = TRY_MS * 1000};
	unsigned long long start;

	begin_thread(stay_outside);
	start = now_ns();
	for (long i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		MUST(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
		MUST(try_to_connect(fd) && errno == EINPROGRESS);
		close(fd);
	}
	return now_ns() - start;
}

static __attribute__((noinline)) void *take(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "taker");
	atomic_store(&waiting_tid, syscall(SYS_gettid));
	accept(listener, NULL, NULL);
	__asm__ volatile("");
	return NULL;
}

static unsigned long long wait_for_nobody(void)
{
	struct timespec nap = {.tv_sec = count * TRY_MS / 1000,
			       .tv_nsec = count * TRY_MS % 1000 * 1000000};
	unsigned long long start;

	begin_thread(take);
	start = now_ns();
	MUST(!nanosleep(&nap, NULL));
	return now_ns() - start;
}

int main(int argc, char **argv)
{
	struct schedstat before, after;
	unsigned long long time_ns;
	pid_t server = 0;

	if (argc < 3)
		return 2;
	count = atol(argv[2]);
	if (strcmp(argv[1], "full") == 0)
		server = make_full();
	else
		listen_at(INADDR_ANY, 1);
	ready(getpid(), server ? server : getpid());
	before = read_schedstat(getpid());
	time_ns = server ? knock() : wait_for_nobody();
	after = read_schedstat(getpid());
	printf("done %llu %d %llu\n", time_ns, ntohs(address.sin_port),
	       after.run_ns + after.delay_ns - before.run_ns - before.delay_ns);
	stay();
	if (server) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	return 0;
}
