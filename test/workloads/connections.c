/*
 * A process that has very many connections, and waits for an answer in one of them.
 *
 * usage: connections COUNT [PORT]
 *
 * "holder" has COUNT connections to process "peer", 5,000 of them to an address; or as many as it
 * may, and further processes, "other", have the rest, each to a peer of its own. Holder asks in one
 * that is in the middle, and waits in hear() until peer has slept, for 500 ms.
 *
 * With PORT, and a COUNT of 1, they are in a network namespace of their own, at 127.0.0.1, where
 * peer's end is at PORT and holder's at the next one.
 *
 * Prints "ready HOLDER PEER", and begins at the first byte on standard input. Prints "done NS PORT
 * LOCAL HELD LAST WAITED": how long peer slept, the port at its end, that at holder's, how many
 * holder has, the last number of peer's address, and how long holder was in hear(). Ends at the
 * next byte.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "workload.h"

#define FOR_AN_ADDRESS 5000
#define QUEUE	       1000
#define SLEEP_NS       500000000
/* Descriptors that are none of them. */
#define SPARE 64

static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t size = sizeof(address);
static long count;
static int listener, port;

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
	address.sin_port = htons(port);
	MUST((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	MUST(!bind(listener, (void *)&address, size) && !listen(listener, backlog));
	MUST(!getsockname(listener, (void *)&address, &size));
}

static int port_of(int fd)
{
	struct sockaddr_in own;

	MUST(!getsockname(fd, (void *)&own, &size));
	return ntohs(own.sin_port);
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

/* This process's ends of its connections to peer. */
static int *ends;
static unsigned long long *slept_ns;
static int held, middle, told[2];

static void tell_or_hear(int is_peer)
{
	char byte = 0;

	MUST(is_peer ? write(told[1], &byte, 1) == 1 : read(told[0], &byte, 1) == 1);
}

static int connect_one(int i)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i / FOR_AN_ADDRESS);
	if (port) {
		struct sockaddr_in own = address;

		own.sin_port = htons(port + 1);
		MUST(!bind(fd, (void *)&own, size));
	}
	MUST(fd >= 0 && !connect(fd, (void *)&address, size));
	return fd;
}

/* Both do their part of so many connections that the queue has room for. */
static void make_ends(int is_peer)
{
	/* Nothing is left of it when it is closed. */
	struct linger none = {.l_onoff = 1};

	for (int i = 0; i < held; i++) {
		ends[i] = is_peer ? accept(listener, NULL, NULL) : connect_one(i);
		MUST(ends[i] >= 0);
		MUST(!setsockopt(ends[i], SOL_SOCKET, SO_LINGER, &none, sizeof(none)));
		if (i % QUEUE == QUEUE - 1)
			tell_or_hear(is_peer);
	}
	tell_or_hear(is_peer);
	close(listener);
}

static void run_peer(void)
{
	struct timespec nap = {.tv_nsec = SLEEP_NS};
	unsigned long long start;
	char byte;

	make_ends(1);
	/* Those of the others hear nothing until all end. */
	if (read(ends[middle], &byte, 1) != 1)
		return;
	start = now_ns();
	MUST(!nanosleep(&nap, NULL));
	*slept_ns = now_ns() - start;
	MUST(write(ends[middle], &byte, 1) == 1);
}

static pid_t make_pair(int connections)
{
	pid_t peer;

	held = connections;
	middle = held / 2;
	MUST((ends = calloc(held, sizeof(*ends))) != NULL && !pipe(told));
	listen_at(INADDR_ANY, QUEUE);
	peer = child("peer", run_peer);
	make_ends(0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + middle / FOR_AN_ADDRESS);
	return peer;
}

static void run_other(void)
{
	int done = told[1];

	make_pair(held);
	MUST(write(done, "x", 1) == 1);
}

static pid_t make_many(void)
{
	rlim_t all = count + SPARE;
	struct rlimit limit = {all, all};

	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		MUST(!getrlimit(RLIMIT_NOFILE, &limit));
		limit.rlim_cur = limit.rlim_max < all ? limit.rlim_max : all;
		MUST(!setrlimit(RLIMIT_NOFILE, &limit));
	}
	slept_ns = mmap(NULL, sizeof(*slept_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	MUST(slept_ns != MAP_FAILED);
	for (long left = count - (limit.rlim_cur - SPARE); left > 0; left -= held) {
		held = left < (long)limit.rlim_cur - SPARE ? left : (long)limit.rlim_cur - SPARE;
		MUST(!pipe(told));
		child("other", run_other);
		tell_or_hear(0);
		close(told[0]);
		close(told[1]);
	}
	prctl(PR_SET_NAME, "holder");
	return make_pair(limit.rlim_cur - SPARE);
}

static __attribute__((noinline)) void hear(void)
{
	char byte;

	MUST(write(ends[middle], "x", 1) == 1);
	MUST(read(ends[middle], &byte, 1) == 1);
	__asm__ volatile("");
}

static void live_apart(void)
{
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	MUST(!unshare(CLONE_NEWNET));
	MUST(!ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &loopback));
}

int main(int argc, char **argv)
{
	unsigned long long start, waited_ns;
	pid_t peer;

	if (argc < 2)
		return 2;
	count = atol(argv[1]);
	if (argc > 2) {
		port = atoi(argv[2]);
		live_apart();
	}
	peer = make_many();
	ready(getpid(), peer);
	start = now_ns();
	hear();
	waited_ns = now_ns() - start;
	printf("done %llu %d %d %d %d %llu\n", *slept_ns, ntohs(address.sin_port),
	       port_of(ends[middle]), held, 1 + middle / FOR_AN_ADDRESS, waited_ns);
	stay();
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	return 0;
}
