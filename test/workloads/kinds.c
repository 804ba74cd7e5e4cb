/*
 * Threads that wait, each for one thing, which it is named by.
 *
 * usage: kinds FOLDER MSEC
 *
 * Prints "ready PID TID", and begins at the first byte on standard input. For MSEC each thread
 * "k:KIND" waits once, or again and again, in that kind of wait and in no other; for disks only if
 * FOLDER is on one. Then prints "done IO_URING DISK": whether the kernel allows that, and whether
 * it is on a disk. Ends at the next byte.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "workload.h"

#define FILE_BYTES (4 << 20)
#define PAGE	   4096
#define CHUNK	   65536

static const char *folder;
static unsigned long long end_ns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER,
		       condition_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static unsigned int word;
static int has_uring, semaphores;
static char chunk[CHUNK] __attribute__((aligned(PAGE)));

static void must(int ok)
{
	if (ok)
		return;
	perror("kinds");
	exit(2);
}

static int file_of(const char *name, int flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_RDWR | flags, 0600);
	must(fd >= 0);
	return fd;
}

static int goes_on(void)
{
	return now_ns() < end_ns;
}

/* A descriptor that gives nothing. */
static int silent(void)
{
	int ends[2];

	must(!pipe(ends));
	return ends[0];
}

static void read_pipe(void)
{
	must(read(silent(), chunk, 1) >= 0);
}

static void write_pipe(void)
{
	int ends[2];

	must(!pipe(ends));
	for (;;)
		must(write(ends[1], chunk, CHUNK) > 0);
}

static void receive_unix(void)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	must(recv(ends[0], chunk, 1, 0) >= 0);
}

static void send_unix(void)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	for (;;)
		must(send(ends[1], chunk, CHUNK, 0) > 0);
}

static int listening(struct sockaddr_in *address, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*address);

	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(!bind(fd, (struct sockaddr *)address, size) && !listen(fd, backlog));
	must(!getsockname(fd, (struct sockaddr *)address, &size));
	return fd;
}

static int connected(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(!connect(fd, (const struct sockaddr *)address, sizeof(*address)));
	return fd;
}

static void receive_tcp(void)
{
	struct sockaddr_in address = {0};

	listening(&address, 5);
	must(recv(connected(&address), chunk, 1, 0) >= 0);
}

static void receive_udp(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET};

	must(!bind(fd, (struct sockaddr *)&address, sizeof(address)));
	must(recv(fd, chunk, 1, 0) >= 0);
}

static void send_tcp(void)
{
	struct sockaddr_in address = {0};
	int fd;

	listening(&address, 5);
	for (fd = connected(&address);;)
		must(send(fd, chunk, CHUNK, 0) > 0);
}

static void accept_tcp(void)
{
	struct sockaddr_in address = {0};

	must(accept4(listening(&address, 5), NULL, NULL, SOCK_CLOEXEC) >= 0);
}

static void accept_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	unlink(address.sun_path);
	must(!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 5));
	must(accept(fd, NULL, NULL) >= 0);
}

/* Nobody accepts: the third one stays outside. */
static void connect_tcp(void)
{
	struct sockaddr_in address = {0};

	listening(&address, 0);
	for (;;)
		connected(&address);
}

static void wait_in_poll(void)
{
	struct pollfd fd = {.fd = silent(), .events = POLLIN};

	must(poll(&fd, 1, -1) >= 0);
}

static void wait_in_select(void)
{
	fd_set fds;
	int fd = silent();

	FD_ZERO(&fds);
	FD_SET(fd, &fds);
	must(select(fd + 1, &fds, NULL, NULL, NULL) >= 0);
}

static void wait_in_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	must(!epoll_ctl(fd, EPOLL_CTL_ADD, silent(), &event));
	must(epoll_wait(fd, &event, 1, -1) >= 0);
}

static void lock(void)
{
	pthread_mutex_lock(&mutex);
}

static void wait_for_condition(void)
{
	pthread_mutex_lock(&condition_mutex);
	pthread_cond_wait(&condition, &condition_mutex);
}

static void wait_for_semaphore(void)
{
	sem_wait(&semaphore);
}

static void wait_at_futex(void)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void nap(void)
{
	const struct timespec time = {.tv_nsec = 10000000};

	while (goes_on())
		nanosleep(&time, NULL);
}

static void wait_for_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "child");
		for (;;)
			pause();
	}
	must(waitpid(child, NULL, 0) >= 0);
}

static void wait_for_signal(void)
{
	sigset_t none;

	sigfillset(&none);
	sigdelset(&none, SIGKILL);
	sigsuspend(&none);
}

/* A process of its own stops; this thread waits for it as for a child. */
static void wait_for_stopped(void)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "k:stopped");
		raise(SIGSTOP);
		_exit(0);
	}
	must(waitpid(child, NULL, 0) >= 0);
}

static void read_eventfd(void)
{
	unsigned long long count;

	must(read(eventfd(0, 0), &count, sizeof(count)) >= 0);
}

static void read_timerfd(void)
{
	const struct itimerspec time = {.it_value.tv_sec = 1000};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	unsigned long long count;

	must(!timerfd_settime(fd, 0, &time, NULL) && read(fd, &count, sizeof(count)) >= 0);
}

static void read_inotify(void)
{
	must(read(inotify_init1(0), chunk, CHUNK) >= 0);
}

static void read_terminal(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	int fd;

	must(terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal));
	fd = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	must(fd >= 0 && read(fd, chunk, 1) >= 0);
}

static void wait_for_semop(void)
{
	struct sembuf take = {.sem_op = -1};

	semop(semaphores, &take, 1);
}

static void lock_file(void)
{
	must(!flock(file_of("locked", 0), LOCK_EX));
	must(!flock(file_of("locked", 0), LOCK_EX));
}

static void lock_record(void)
{
	struct flock all = {.l_type = F_WRLCK};

	must(!fcntl(file_of("record", 0), F_OFD_SETLK, &all));
	must(!fcntl(file_of("record", 0), F_OFD_SETLKW, &all));
}

static void wait_in_uring(void)
{
	struct io_uring_params params = {0};
	int fd = syscall(SYS_io_uring_setup, 4, &params);

	has_uring = fd >= 0;
	if (has_uring)
		syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static void write_disk(void)
{
	int fd = file_of("written", 0);

	while (goes_on())
		must(pwrite(fd, chunk, PAGE, 0) == PAGE && !fsync(fd));
}

static void filled(const char *name)
{
	int fd = file_of(name, 0);

	for (int at = 0; at < FILE_BYTES; at += CHUNK)
		must(pwrite(fd, chunk, CHUNK, at) == CHUNK);
	must(!fsync(fd) && !close(fd));
}

static void read_disk(void)
{
	int fd = file_of("read", O_DIRECT);

	for (off_t at = 0; goes_on(); at = (at + CHUNK) % FILE_BYTES)
		must(pread(fd, chunk, CHUNK, at) == CHUNK);
}

static void fault(void)
{
	/* All but its first page: where it is in memory is not where it is in the file. */
	const int bytes = FILE_BYTES - PAGE;
	int fd = file_of("mapped", 0);
	volatile char *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, PAGE);

	must(memory != MAP_FAILED);
	madvise((void *)memory, bytes, MADV_RANDOM);
	while (goes_on()) {
		madvise((void *)memory, bytes, MADV_DONTNEED);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (int at = 0; at < bytes && goes_on(); at += PAGE)
			memory[at];
	}
}

static const struct kind {
	const char *name;
	void (*wait)(void);
} kinds[] = {
	{"pipe", read_pipe},
	{"pipe", write_pipe},
	{"unix socket", receive_unix},
	{"unix socket", send_unix},
	{"socket receive", receive_tcp},
	{"socket receive", receive_udp},
	{"socket send", send_tcp},
	{"socket accept", accept_tcp},
	{"socket accept", accept_unix},
	{"socket connect", connect_tcp},
	{"poll", wait_in_poll},
	{"poll", wait_in_select},
	{"poll", wait_in_epoll},
	{"lock", lock},
	{"condition", wait_for_condition},
	{"condition", wait_for_semaphore},
	{"futex", wait_at_futex},
	{"sleep", nap},
	{"child", wait_for_child},
	{"child", wait_for_stopped},
	{"signal", wait_for_signal},
	{"event", read_eventfd},
	{"event", read_timerfd},
	{"event", read_inotify},
	{"terminal", read_terminal},
	{"IPC", wait_for_semop},
	{"file lock", lock_file},
	{"file lock", lock_record},
	{"io_uring", wait_in_uring},
	/* On a disk; the last ones. */
	{"disk write", write_disk},
	{"disk read", read_disk},
	{"page fault", fault},
};

#define KINDS	   (sizeof(kinds) / sizeof(*kinds))
#define DISK_KINDS 3

static int is_on_disk(void)
{
	struct statfs system;

	must(!statfs(folder, &system));
	return system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC;
}

static void *run(void *data)
{
	const struct kind *kind = data;
	char name[32];

	snprintf(name, sizeof(name), "k:%.13s", kind->name);
	prctl(PR_SET_NAME, name);
	kind->wait();
	prctl(PR_SET_NAME, "over");
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timespec time = {.tv_sec = atol(argv[2]) / 1000,
				      .tv_nsec = atol(argv[2]) % 1000 * 1000000};
	pthread_t thread;

	(void)argc;
	folder = argv[1];
	filled("read");
	filled("mapped");
	pthread_mutex_lock(&mutex);
	sem_init(&semaphore, 0, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	must(semaphores >= 0);
	ready(getpid(), getpid());
	end_ns = now_ns() + time.tv_sec * 1000000000ULL + time.tv_nsec;
	for (unsigned int i = 0; i < KINDS - (is_on_disk() ? 0 : DISK_KINDS); i++)
		must(!pthread_create(&thread, NULL, run, (void *)&kinds[i]));
	nanosleep(&time, NULL);
	semctl(semaphores, 0, IPC_RMID);
	printf("done %d %d\n", has_uring, is_on_disk());
	return stay();
}
