/*
 * A file system that stops answering, and a process that executes a program of it.
 *
 * usage: silent-mount FOLDER [maps [THREADS]] | silent-mount works [FILE THREADS]
 *
 * Serves itself as FOLDER/program, by FUSE, and executes that with "works": it computes and sleeps
 * in turn. Prints "ready PID" of it. At the first byte on standard input no question is answered
 * any more, for which it prints "done"; at the end of it, the program ends, and then the mount.
 *
 * With "maps", one more thread of the program maps FOLDER/data, which the file system has it wait
 * for: meanwhile it holds the lock of the process's memory (mmap_lock), for ever. Source:
 * fs/fuse/file.c, fuse_file_mmap: what was written by way of another mapping is sent first.
 * THREADS more do nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOT = FUSE_ROOT_ID, PROGRAM = 2, DATA = 3, REQUEST_BYTES = 1 << 20 };

#define DATA_BYTES 4096

static int device, file;
static off_t file_bytes;

static void answer(const struct fuse_in_header *request, int error, const void *data, size_t bytes)
{
	struct fuse_out_header header = {sizeof(header) + bytes, -error, request->unique};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)data, bytes}};

	/* Whoever asked may have ended. */
	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		perror("answer");
}

static struct fuse_attr attributes(unsigned long node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .mode = S_IFDIR | 0755, .mtime = 1};

	if (node == PROGRAM) {
		attr.mode = S_IFREG | 0755;
		attr.size = file_bytes;
		attr.blocks = (file_bytes + 511) / 512;
	}
	if (node == DATA) {
		attr.mode = S_IFREG | 0644;
		attr.size = DATA_BYTES;
		attr.blocks = DATA_BYTES / 512;
	}
	return attr;
}

static void read_file(const struct fuse_in_header *request, const struct fuse_read_in *in)
{
	size_t bytes = in->size < REQUEST_BYTES / 2 ? in->size : REQUEST_BYTES / 2;
	char *data = malloc(bytes);
	ssize_t got = pread(file, data, bytes, in->offset);

	answer(request, got < 0 ? EIO : 0, data, got < 0 ? 0 : got);
	free(data);
}

static void serve(const struct fuse_in_header *request)
{
	const void *in = request + 1;

	switch (request->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
					    .minor = 31,
					    .max_readahead = 1 << 16,
					    .max_write = 1 << 16};

		answer(request, 0, &out, sizeof(out));
		break;
	}
	case FUSE_LOOKUP: {
		unsigned long node = strcmp(in, "data") ? PROGRAM : DATA;
		struct fuse_entry_out out = {.nodeid = node, .attr = attributes(node)};
		int found =
			request->nodeid == ROOT && (!strcmp(in, "program") || !strcmp(in, "data"));

		answer(request, found ? 0 : ENOENT, &out, found ? sizeof(out) : 0);
		break;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = {.attr = attributes(request->nodeid)};

		answer(request, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		const struct fuse_open_in *open = in;
		struct fuse_open_out out = {.open_flags = FOPEN_KEEP_CACHE};

		/* Who opens it to read only does without the cache, which is emptied then. */
		if (request->nodeid == DATA && (open->flags & O_ACCMODE) == O_RDONLY)
			out.open_flags = FOPEN_DIRECT_IO;
		answer(request, 0, &out, sizeof(out));
		break;
	}
	case FUSE_WRITE: /* never answered */
		break;
	case FUSE_READ:
		read_file(request, in);
		break;
	case FUSE_ACCESS:
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(request, ENOSYS, NULL, 0);
	}
}

/* Serves until there is something to be read from our standard input. */
static void serve_until_told(void)
{
	struct pollfd events[] = {{0, POLLIN, 0}, {device, POLLIN, 0}};
	char *request = malloc(REQUEST_BYTES);

	while (poll(events, 2, -1) > 0 && !events[0].revents) {
		if (!events[1].revents)
			continue;
		if (read(device, request, REQUEST_BYTES) > 0)
			serve((struct fuse_in_header *)request);
		else if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
			break;
	}
	free(request);
}

__attribute__((noinline)) static void compute_silently(void)
{
	for (volatile int i = 0; i < 5000000; i++)
		;
}

__attribute__((noinline)) static void sleep_silently(void)
{
	struct timespec nap = {0, 5000000};

	nanosleep(&nap, NULL);
	__asm__ volatile("" ::: "memory");
}

static void must(int works)
{
	if (!works)
		exit(5);
}

/* Waits for ever, with the lock of the process's memory. */
static void *map_data(void *path)
{
	int changed = open(path, O_RDWR), read_only = open(path, O_RDONLY);
	char *data;

	must(changed >= 0 && read_only >= 0);
	data = mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, changed, 0);
	must(data != MAP_FAILED);
	data[0] = 1;
	mmap(NULL, DATA_BYTES, PROT_READ, MAP_PRIVATE, read_only, 0);
	return NULL;
}

static void *do_nothing(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : "";
	char options[100], path[4096], data[4096], byte;
	struct stat stat;
	const char *threads = argc > 3 ? argv[3] : "0";
	pthread_t maps, idle;
	pid_t pid;

	for (int round = 0; !strcmp(folder, "works"); round++) {
		compute_silently();
		sleep_silently();
		/* What it needs of itself is in memory by now. */
		if (round == 0) {
			printf("ready %d\n", getpid());
			fflush(stdout);
			for (int i = 0; i < atoi(threads); i++)
				must(!pthread_create(&idle, NULL, do_nothing, NULL));
			if (argc > 2)
				must(!pthread_create(&maps, NULL, map_data, argv[2]));
		}
	}
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (device < 0 || file < 0 || fstat(file, &stat) < 0)
		return 2;
	file_bytes = stat.st_size;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", device);
	if (mount("tstrace-test", folder, "fuse.silent", MS_NOSUID | MS_NODEV, options) < 0)
		return 3;
	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(data, sizeof(data), "%s/data", folder);
	pid = fork();
	if (pid == 0) {
		execl(path, path, "works", argc > 2 ? data : NULL, threads, NULL);
		_exit(4);
	}
	serve_until_told();
	if (read(0, &byte, 1) > 0) {
		printf("done\n");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
	}
	kill(pid, SIGKILL);
	/* Whoever still asks gets an error. */
	umount2(folder, MNT_DETACH);
	close(device);
	waitpid(pid, NULL, 0);
	return 0;
}
