/*
 * System calls with known arguments and results.
 *
 * usage: traced KIND [COUNT]
 *
 * Prints "ready PID TID". At the first byte on standard input it makes the calls of its KIND, then
 * prints "done …", and ends at the next byte. Kinds:
 *
 * "known"    calls of each kind of argument, the same each time; its numbers: the inodes of its
 * pipe and its socket, two TCP ports, and how long its sleep took by its own clock, in ns "every"
 * every call of this architecture, with arguments of -1, but those that would end it "hostile"
 * opens files with control characters, quotes and bytes above 127 in their names "cold"     opens a
 * file whose name lies in a page that was not read yet; and one that is nowhere "flood"    COUNT
 * reads of a byte, and COUNT writes of one "threads"  COUNT threads, each with 20 calls of its own:
 * close of 1000000 + 1000 * thread + i "blocked"  waits in a read of an empty pipe for good, in a
 * second thread "killed"   a child that waits in pause() is killed by SIGKILL; one that exits with
 * 7; one by SIGSEGV "stack"    close of 4242 in inner, of 4243 in middle, which calls it and is
 * called by outer; its number: how many frames backtrace() finds in inner "deeper"   COUNT calls of
 * close of 4242, each in one more call of descends "nothing"  reads of an empty pipe that fail,
 * into buffers that have "stale" in them
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "frames.h"
#include "workload.h"

#define SLEEP_NS    20000000
#define CALLS	    470
#define THREADS_MAX 64

static void need(bool right)
{
	if (!right)
		exit(2);
}

static long inode_of(int file)
{
	struct stat stat;

	need(!fstat(file, &stat));
	return stat.st_ino;
}

static void sockets(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(4711)};
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/no/such/socket"};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client, server;
	int local = socket(AF_UNIX, SOCK_DGRAM, 0), newer = socket(AF_INET6, SOCK_DGRAM, 0);
	socklen_t bytes = sizeof(here);
	struct iovec vector, vectors[] = {{"one", 3}, {"four", 4}};
	struct msghdr message;
	struct mmsghdr messages[2];
	char byte = 'q', all[14];

	need(listener >= 0 && local >= 0 && !bind(listener, (void *)&here, sizeof(here)));
	need(!listen(listener, 5) && !getsockname(listener, (void *)&here, &bytes));
	printf(" %d", ntohs(here.sin_port));
	client = socket(AF_INET, SOCK_STREAM, 0);
	need(client >= 0 && !connect(client, (void *)&here, sizeof(here)));
	bytes = sizeof(here);
	server = accept4(listener, (void *)&here, &bytes, SOCK_CLOEXEC);
	printf(" %d", ntohs(here.sin_port));
	need(server >= 0 && send(client, &byte, 1, MSG_NOSIGNAL) == 1);
	need(recv(server, &byte, 1, 0) == 1);
	vector = (struct iovec){"message", 7};
	message = (struct msghdr){.msg_iov = &vector, .msg_iovlen = 1};
	need(sendmsg(client, &message, MSG_NOSIGNAL) == 7);
	for (int i = 0; i < 2; i++)
		messages[i] =
			(struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
	need(sendmmsg(client, messages, 2, MSG_NOSIGNAL) == 2);
	vector = (struct iovec){all, sizeof(all)};
	messages[0] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
	need(recvmmsg(server, messages, 1, MSG_WAITALL, NULL) == 1);
	need(connect(local, (void *)&name, sizeof(name)) && errno == ENOENT);
	bytes = sizeof(name);
	need(!getsockname(local, (void *)&name, &bytes) && bytes == sizeof(sa_family_t));
	need(!bind(local, (void *)&name, sizeof(sa_family_t)));
	memset(&name, 0, sizeof(name));
	bytes = sizeof(name);
	need(!getsockname(local, (void *)&name, &bytes));
	/* A name of five hexadecimal digits, which the kernel gives: man 7 unix, "Autobind". */
	printf(" %lu", strtoul(name.sun_path + 1, NULL, 16));
	six.sin6_addr = in6addr_loopback;
	if (newer >= 0)
		sendto(newer, "six", 3, 0, (void *)&six, sizeof(six));
}

static void known(void)
{
	struct timespec time = {0, SLEEP_NS};
	struct iovec vectors[] = {{"first", 5}, {"second", 6}};
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x1234};
	struct pollfd polled;
	struct rlimit limit;
	unsigned long long began_ns;
	char buffer[64], folder[32], path[64];
	int pipes[2], file, epoll;

	/* Not by mkdtemp: in one run of 22 it asks for random bytes twice. */
	snprintf(folder, sizeof(folder), "/tmp/tstrace-traced-%06llu", now_ns() / 1000 % 1000000);
	need(!mkdir(folder, 0700) && !pipe2(pipes, O_CLOEXEC));
	printf("done %ld %ld", inode_of(pipes[0]), inode_of(pipes[0]));
	snprintf(path, sizeof(path), "%s/file", folder);
	file = openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0640);
	need(file >= 0 && write(file, "line\n\"two\"\t\\", 12) == 12);
	need(lseek(file, 5, SEEK_SET) == 5 && read(file, buffer, 5) == 5);
	need(pwrite64(file, "abc", 3, 100) == 3 && !ftruncate(file, 4242));
	need(!fstat(file, &(struct stat){}) && writev(pipes[1], vectors, 2) == 11);
	polled = (struct pollfd){.fd = pipes[0], .events = POLLIN | POLLPRI};
	need(poll(&polled, 1, 1000) == 1 && read(pipes[0], buffer, sizeof(buffer)) == 11);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	need(!epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event));
	need(!renameat2(AT_FDCWD, path, AT_FDCWD, "/tmp/tstrace-no/such", RENAME_NOREPLACE) ||
	     errno == ENOENT);
	need(!unlink(path) && !rmdir(folder));
	need(!getrlimit(RLIMIT_NOFILE, &limit));
	began_ns = now_ns();
	need(!clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL));
	began_ns = now_ns() - began_ns;
	need(mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	     MAP_FAILED);
	need(close(12345) && errno == EBADF);
	sockets();
	printf(" %llu\n", began_ns);
}

/* Those that end the thread, or that are not this machine's to try. */
static bool is_left_out(long nr)
{
	static const long left_out[] = {
		SYS_exit,
		SYS_exit_group,
		SYS_rt_sigreturn,
		SYS_vhangup,
		SYS_reboot,
		SYS_kexec_load,
		SYS_clone,
		SYS_shmget,
		SYS_msgget,
		SYS_semget,
		SYS_sync,
		SYS_setsid,
		SYS_rt_sigsuspend,
		SYS_restart_syscall,
#ifdef __x86_64__
		SYS_fork,
		SYS_vfork,
		SYS_pause,
		SYS_alarm,
#endif
		335, /* uretprobe */
		336, /* uprobe */
	};

	for (unsigned i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (nr == left_out[i])
			return true;
	return false;
}

static void every(void)
{
	int made = 0;

	for (long nr = 0; nr < CALLS; nr++) {
		if (is_left_out(nr))
			continue;
		syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L);
		made++;
	}
	printf("done %d\n", made);
}

static void hostile(void)
{
	need(open("/no/\033[31mred\a", O_RDONLY) < 0);
	need(open("/no/quote\"and\\back", O_RDONLY) < 0);
	need(open("/no/\xc3\xa4\xff"
		  "1",
		  O_RDONLY) < 0);
	need(open("/no/new\nline\0"
		  "after",
		  O_RDONLY) < 0);
	printf("done 4\n");
}

static void cold(const char *itself)
{
	char *page;
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);

	(void)itself;
	need(file >= 0 && pwrite(file, "/no/such/cold", 14, 0) == 14);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	need(page != MAP_FAILED && open(page, O_RDONLY) < 0 && errno == ENOENT);
	need(open((char *)4096, O_RDONLY) < 0 && errno == EFAULT);
	printf("done 2\n");
}

static void flood(long count)
{
	int from = open("/dev/zero", O_RDONLY), to = open("/dev/null", O_WRONLY);
	char byte;

	for (long i = 0; i < count; i++)
		need(read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1);
	printf("done %ld\n", count);
}

static void *close_many(void *number)
{
	for (long i = 0; i < 20; i++)
		close(1000000 + 1000 * (long)number + i);
	return NULL;
}

static void threads(long count)
{
	pthread_t all[THREADS_MAX];

	for (long i = 0; i < count && i < THREADS_MAX; i++)
		need(!pthread_create(&all[i], NULL, close_many, (void *)i));
	for (long i = 0; i < count && i < THREADS_MAX; i++)
		pthread_join(all[i], NULL);
	printf("done %ld\n", count);
}

/* Of descriptor 3, into one buffer and into two. */
static void nothing(void)
{
	char buffer[] = "stale", other[] = "stale";
	struct iovec vectors[] = {{buffer, 5}, {other, 5}};
	int pipes[2];

	need(!pipe2(pipes, O_NONBLOCK));
	need(read(pipes[0], buffer, 5) < 0 && errno == EAGAIN);
	need(readv(pipes[0], vectors, 2) < 0 && errno == EAGAIN);
	need(write(pipes[1], "new", 3) == 3);
	need(readv(pipes[0], vectors, 2) == 3);
	printf("done 3\n");
}

static int empty[2];

static void *read_for_good(void *buffer)
{
	need(read(empty[0], buffer, 77) < 0);
	return NULL;
}

static void blocked(void)
{
	static char buffer[77];
	pthread_t thread;

	need(!pipe(empty) && !pthread_create(&thread, NULL, read_for_good, buffer));
	printf("done 0\n");
}

static void handler(int signal)
{
	(void)signal;
}

static void killed(void)
{
	pid_t waiting, exits, crashes;

	signal(SIGCHLD, handler);
	waiting = fork();
	if (!waiting)
		for (;;)
			pause();
	need(!kill(waiting, SIGKILL) && waitpid(waiting, NULL, 0) == waiting);
	exits = fork();
	if (!exits)
		_exit(7);
	need(waitpid(exits, NULL, 0) == exits);
	crashes = fork();
	if (!crashes) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	need(waitpid(crashes, NULL, 0) == crashes);
	printf("done %d %d %d\n", waiting, exits, crashes);
}

/* What comes after a call keeps it from being made a jump. */
static volatile int after;
static int frames;

IN_STACKS static void inner(void)
{
	void *addresses[64];

	frames = backtrace(addresses, 64);
	call_kernel(SYS_close, 4242, 0, 0, 0);
	after++;
}

IN_STACKS static void middle(void)
{
	inner();
	call_kernel(SYS_close, 4243, 0, 0, 0);
	after++;
}

IN_STACKS static void outer(void)
{
	middle();
	after++;
}

static void stack(void)
{
	outer();
	printf("done %d\n", frames);
}

IN_STACKS static void descends(long left)
{
	call_kernel(SYS_close, 4242, 0, 0, 0);
	if (left > 1)
		descends(left - 1);
	after++;
}

static void deeper(long count)
{
	descends(count);
	puts("done");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	ready(getpid(), syscall(SYS_gettid));
	if (!strcmp(kind, "known"))
		known();
	else if (!strcmp(kind, "every"))
		every();
	else if (!strcmp(kind, "hostile"))
		hostile();
	else if (!strcmp(kind, "cold"))
		cold(argv[0]);
	else if (!strcmp(kind, "flood"))
		flood(count);
	else if (!strcmp(kind, "threads"))
		threads(count);
	else if (!strcmp(kind, "blocked"))
		blocked();
	else if (!strcmp(kind, "killed"))
		killed();
	else if (!strcmp(kind, "stack"))
		stack();
	else if (!strcmp(kind, "deeper"))
		deeper(count);
	else if (!strcmp(kind, "nothing"))
		nothing();
	else
		return 2;
	return stay();
}
