/*
 * Threads that wait, each for one thing that it is named by, and each until the thing is there.
 *
 * usage: objects FOLDER [apart]
 *
 * Prints "ready PID TID", and begins at the first byte on standard input. Threads "o:NAME" then
 * wait until all of them are blocked, and another process, "o:peer", gives them what they wait for.
 * Prints "done PEER TCP TCP6 UDP QUEUED": the number of that process, which stays, and the ports at
 * its end. Ends at the next byte. "apart": in a mount, a PID and a network namespace of its own,
 * where another file system is at FOLDER; its numbers are those that it sees itself.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "workload.h"

#define CHUNK 65536
#define DEEP  16 /* folders of 250 characters: more than 4,000 in all */

static const char *folder;
static char chunk[CHUNK];
/* The second one is waited for: at an offset of 8 in a symbol. */
unsigned int object_words[4];
static unsigned int *on_heap, *on_stack;

enum {
	READ,
	WRITE,
	FIFO,
	UNIX,
	TCP,
	TCP6,
	UDP,
	QUEUED,
	EPOLL,
	POLL,
	POLL_MANY,
	SELECT,
	SELECT_MANY,
	REUSED,
	ENDS
};
/* Ours, and the peer's. */
static int ours[ENDS], theirs[ENDS], silent[2], again[2];
static int ports[ENDS];

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(2);
}
#define MUST(what) must((what), #what)

static char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_pipe(int end, int reads)
{
	int ends[2];

	MUST(!pipe(ends));
	ours[end] = ends[reads ? 0 : 1];
	theirs[end] = ends[reads ? 1 : 0];
}

static void make_fifo(void)
{
	int both;

	MUST(!mkfifo(path_of("fifo"), 0600));
	MUST((both = open(path_of("fifo"), O_RDWR)) >= 0);
	MUST((ours[FIFO] = open(path_of("fifo"), O_RDONLY)) >= 0);
	MUST((theirs[FIFO] = open(path_of("fifo"), O_WRONLY)) >= 0);
	close(both);
}

static void make_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path_of("socket"));
	MUST(!bind(listener, (void *)&address, sizeof(address)) && !listen(listener, 1));
	ours[UNIX] = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(!connect(ours[UNIX], (void *)&address, sizeof(address)));
	MUST((theirs[UNIX] = accept(listener, NULL, NULL)) >= 0);
	close(listener);
}

/* Over IPv4; the listener may be for both. `queued`: nobody accepts the connection. */
static void make_tcp(int end, int family, int queued)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	int listener = socket(family, SOCK_STREAM, 0);
	socklen_t size = sizeof(any);

	MUST(!(family == AF_INET ? bind(listener, (void *)&to, sizeof(to))
				 : bind(listener, (void *)&any, sizeof(any))));
	MUST(!listen(listener, 1) && !getsockname(listener, (void *)&any, &size));
	to.sin_port = any.sin6_port;
	ports[end] = ntohs(to.sin_port);
	ours[end] = socket(AF_INET, SOCK_STREAM, 0);
	MUST(!connect(ours[end], (void *)&to, sizeof(to)));
	theirs[end] = queued ? listener : accept(listener, NULL, NULL);
	MUST(theirs[end] >= 0);
	if (!queued)
		close(listener);
}

static void make_udp(void)
{
	struct sockaddr_in address[2];
	socklen_t size = sizeof(*address);
	int *ends[] = {&ours[UDP], &theirs[UDP]};

	for (int i = 0; i < 2; i++) {
		*ends[i] = socket(AF_INET, SOCK_DGRAM, 0);
		address[i] = (struct sockaddr_in){.sin_family = AF_INET,
						  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		MUST(!bind(*ends[i], (void *)&address[i], size));
		MUST(!getsockname(*ends[i], (void *)&address[i], &size));
	}
	MUST(!connect(ours[UDP], (void *)&address[1], size));
	MUST(!connect(theirs[UDP], (void *)&address[0], size));
	ports[UDP] = ntohs(address[1].sin_port);
}

static void take(int end)
{
	MUST(read(ours[end], chunk, 1) == 1);
}

static void write_all(int end)
{
	for (int i = 0; i < 2; i++)
		MUST(write(ours[end], chunk, CHUNK) == CHUNK);
}

static void wait_in_epoll(int end)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	MUST(!epoll_ctl(fd, EPOLL_CTL_ADD, silent[0], &event));
	MUST(!epoll_ctl(fd, EPOLL_CTL_ADD, ours[end], &event));
	MUST(epoll_wait(fd, &event, 1, -1) == 1);
}

/* Two descriptors, of which none is ever ready, until a signal ends the wait. The epoll has the
 * first one at the root of its tree, and the second at the left or at the right of that: where,
 * depends on the addresses of their files. For each way round, so, one of the waits. */
static void wait_for_none(int first, int second)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	MUST(!epoll_ctl(fd, EPOLL_CTL_ADD, first, &event));
	MUST(!epoll_ctl(fd, EPOLL_CTL_ADD, second, &event));
	MUST(epoll_wait(fd, &event, 1, -1) < 0 && errno == EINTR);
}

static void wait_for_none_of_two(int end)
{
	(void)end;
	wait_for_none(silent[0], again[0]);
}

static void wait_for_none_turned(int end)
{
	(void)end;
	wait_for_none(again[0], silent[0]);
}

static void go_on(int number)
{
	(void)number;
}

static void wait_in_poll(int end)
{
	struct pollfd fds[] = {{.fd = ours[end], .events = POLLIN}};

	MUST(poll(fds, 1, -1) == 1);
}

static void poll_many(int end)
{
	struct pollfd fds[] = {{.fd = ours[end], .events = POLLIN},
			       {.fd = silent[0], .events = POLLIN},
			       {.fd = again[0], .events = POLLIN}};

	MUST(poll(fds, 3, -1) == 1);
}

static void wait_in_select(int end)
{
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(ours[end], &fds);
	MUST(select(ours[end] + 1, &fds, NULL, NULL, NULL) == 1);
}

static void select_many(int end)
{
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(ours[end], &fds);
	FD_SET(silent[0], &fds);
	FD_SET(again[0], &fds);
	MUST(select(FD_SETSIZE, &fds, NULL, NULL, NULL) == 1);
}

static void wait_at(unsigned int *word)
{
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wait_at_static(int end)
{
	(void)end;
	wait_at(&object_words[2]);
}

static void wait_at_heap(int end)
{
	(void)end;
	wait_at(on_heap);
}

static void wait_at_stack(int end)
{
	unsigned int word = 0;

	(void)end;
	__atomic_store_n(&on_stack, &word, __ATOMIC_SEQ_CST);
	wait_at(&word);
}

/* Files that are locked already, by another open file: locks[i] opens the lock. */
enum { DELETED, MEMFD, LONG, HOSTILE, LOCKS };
static int locks[LOCKS], files[LOCKS];

static void lock_file(int end)
{
	MUST(!flock(files[end], LOCK_EX));
}

static void make_lock(int end, const char *path)
{
	char self[64];

	MUST((files[end] = path ? open(path, O_CREAT | O_RDWR, 0600) : memfd_create("object", 0)) >=
	     0);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", files[end]);
	MUST((locks[end] = open(self, O_RDWR)) >= 0);
	MUST(!flock(locks[end], LOCK_EX));
}

/* Deeper than a path can be given at once. */
static void make_long(void)
{
	int back = open(".", O_RDONLY | O_DIRECTORY);
	char name[251];

	memset(name, 'd', 250);
	name[250] = 0;
	MUST(!chdir(folder));
	for (int i = 0; i < DEEP; i++) {
		name[0] = 'a' + i;
		MUST(!mkdir(name, 0700) && !chdir(name));
	}
	make_lock(LONG, "the-end");
	MUST(!fchdir(back));
	close(back);
}

static struct waiter {
	const char *name;
	void (*wait)(int end);
	int end;
	pid_t tid;
	pthread_t thread;
} waiters[] = {
	{"o:read", take, READ, 0, 0},
	{"o:write", write_all, WRITE, 0, 0},
	{"o:fifo", take, FIFO, 0, 0},
	{"o:unix", take, UNIX, 0, 0},
	{"o:tcp", take, TCP, 0, 0},
	{"o:tcp6", take, TCP6, 0, 0},
	{"o:udp", take, UDP, 0, 0},
	{"o:queued", take, QUEUED, 0, 0},
	{"o:epoll", wait_in_epoll, EPOLL, 0, 0},
	{"o:none-of-two", wait_for_none_of_two, 0, 0, 0},
	{"o:none-turned", wait_for_none_turned, 0, 0, 0},
	{"o:poll", wait_in_poll, POLL, 0, 0},
	{"o:poll-many", poll_many, POLL_MANY, 0, 0},
	{"o:select", wait_in_select, SELECT, 0, 0},
	{"o:select-many", select_many, SELECT_MANY, 0, 0},
	{"o:reused", take, REUSED, 0, 0},
	{"o:static", wait_at_static, 0, 0, 0},
	{"o:heap", wait_at_heap, 0, 0, 0},
	{"o:stack", wait_at_stack, 0, 0, 0},
	{"o:deleted", lock_file, DELETED, 0, 0},
	{"o:memfd", lock_file, MEMFD, 0, 0},
	{"o:long", lock_file, LONG, 0, 0},
	{"o:hostile", lock_file, HOSTILE, 0, 0},
};
#define WAITERS (sizeof(waiters) / sizeof(*waiters))

static void *run(void *data)
{
	struct waiter *waiter = data;

	prctl(PR_SET_NAME, waiter->name);
	__atomic_store_n(&waiter->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	waiter->wait(waiter->end);
	return NULL;
}

/* Whether it sleeps in a call that it was meant to: not at its start. */
static int is_blocked(const struct waiter *waiter)
{
	pid_t tid = __atomic_load_n(&waiter->tid, __ATOMIC_SEQ_CST);
	char path[64], text[256] = "";
	FILE *file;

	if (!tid ||
	    (waiter->wait == wait_at_stack && !__atomic_load_n(&on_stack, __ATOMIC_SEQ_CST)))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file || !fgets(text, sizeof(text), file))
		exit(2);
	fclose(file);
	return strstr(text, ") S ") != NULL;
}

static pid_t start_peer(int go[2])
{
	pid_t peer = fork();

	if (peer)
		return peer;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "o:peer");
	for (int i = 0; i < ENDS; i++)
		close(ours[i]);
	for (int i = 0; i < LOCKS; i++)
		close(locks[i]);
	close(go[1]);
	MUST(read(go[0], chunk, 1) == 1);
	for (int i = 0; i < ENDS; i++) {
		int fd = i == QUEUED ? accept(theirs[i], NULL, NULL) : theirs[i];

		if (i == WRITE)
			for (int all = 0; all < 2 * CHUNK;)
				all += read(fd, chunk, CHUNK);
		else
			MUST(write(fd, chunk, 1) == 1);
	}
	for (;;)
		pause();
}

/* Goes on in a child, in namespaces of its own. */
static void live_apart(void)
{
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	pid_t child;

	MUST(!unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET));
	MUST((child = fork()) >= 0);
	if (child) {
		waitpid(child, NULL, 0);
		_exit(0);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	MUST(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	MUST(!mount("objects", folder, "tmpfs", 0, NULL));
	MUST(!mount("proc", "/proc", "proc", 0, NULL));
	MUST(!ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &loopback));
}

int main(int argc, char **argv)
{
	int go[2], other;
	pid_t peer;

	folder = argv[1];
	if (argc > 2)
		live_apart();
	on_heap = calloc(1, 64);
	MUST(!pipe(silent) && !pipe(again) && !pipe(go));
	for (int i = 0; i < ENDS; i++)
		if (i < FIFO || i > QUEUED)
			make_pipe(i, i != WRITE);
	make_fifo();
	make_unix();
	make_tcp(TCP, AF_INET, 0);
	make_tcp(TCP6, AF_INET6, 0);
	make_tcp(QUEUED, AF_INET, 1);
	make_udp();
	make_lock(DELETED, path_of("deleted"));
	MUST(!unlink(path_of("deleted")));
	make_lock(MEMFD, NULL);
	make_lock(HOSTILE, path_of("a\033[31m\nb\xff"));
	make_long();
	peer = start_peer(go);
	signal(SIGUSR1, go_on);
	for (int i = 0; i < ENDS; i++)
		close(theirs[i]);
	ready(getpid(), getpid());
	for (unsigned int i = 0; i < WAITERS; i++)
		MUST(!pthread_create(&waiters[i].thread, NULL, run, &waiters[i]));
	for (unsigned int i = 0; i < WAITERS; i++)
		while (!is_blocked(&waiters[i]))
			usleep(1000);
	/* What the thread waits for goes on; its descriptor is another file's. */
	MUST((other = open("/proc/self/exe", O_RDONLY)) >= 0);
	MUST(dup2(other, ours[REUSED]) == ours[REUSED]);
	MUST(write(go[1], chunk, 1) == 1);
	object_words[2] = *on_heap = *on_stack = 1;
	syscall(SYS_futex, &object_words[2], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	syscall(SYS_futex, on_heap, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	syscall(SYS_futex, on_stack, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	for (int i = 0; i < LOCKS; i++)
		close(locks[i]);
	for (unsigned int i = 0; i < WAITERS; i++)
		if (waiters[i].wait == wait_for_none_of_two ||
		    waiters[i].wait == wait_for_none_turned)
			pthread_kill(waiters[i].thread, SIGUSR1);
	for (unsigned int i = 0; i < WAITERS; i++)
		pthread_join(waiters[i].thread, NULL);
	printf("done %d %d %d %d %d\n", peer, ports[TCP], ports[TCP6], ports[UDP], ports[QUEUED]);
	return stay();
}
