/*
 * Has the kernel allocate memory of each of its allocators, and give back a known part of it.
 *
 * usage: kernel_memory FILE KEPT
 *
 * Prints "ready PID TID". At the first byte on standard input it has made what KERNEL of
 * test/live/memleak-kernel.test.ts says: messages in a queue (kmalloc), open files (a cache of its
 * own), a written FILE and KEPT (pages), maps with a value for each CPU. Then prints "done". At the
 * next byte it gives back some of each, all of FILE, and prints "done"; at the next one, or when
 * standard input ends, the rest.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/syscall.h>

#include "workload.h"

#define MESSAGES       97
#define MESSAGES_TAKEN 40
/* Together less than a queue may have: man 7 sysvipc, MSGMNB. */
#define MESSAGE_BYTES 160
#define FILES	      53
#define FILES_CLOSED  20
#define FILE_BYTES    (4 << 20)
#define KEPT_BYTES    (1 << 20)

static struct {
	long type;
	char text[MESSAGE_BYTES];
} message = {.type = 1};

static void check(long result)
{
	if (result < 0)
		exit(3);
}

static int make_map(int values, int value_bytes)
{
	union bpf_attr attributes;
	int map;

	memset(&attributes, 0, sizeof(attributes));
	attributes.map_type = BPF_MAP_TYPE_PERCPU_ARRAY;
	attributes.key_size = 4;
	attributes.value_size = value_bytes;
	attributes.max_entries = values;
	map = syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
	check(map);
	return map;
}

/* At the end of standard input, too. */
static void next(void)
{
	char byte;

	printf("done\n");
	fflush(stdout);
	check(read(STDIN_FILENO, &byte, 1));
}

int main(int argc, char **argv)
{
	static char pages[FILE_BYTES];
	int files[FILES], queue, file, kept, large, small;

	if (argc != 3)
		return 2;
	queue = msgget(IPC_PRIVATE, 0600);
	check(queue);
	memset(pages, 'x', sizeof(pages));
	file = open(argv[1], O_CREAT | O_RDWR | O_TRUNC, 0600);
	kept = open(argv[2], O_CREAT | O_RDWR | O_TRUNC, 0600);
	check(file);
	check(kept);
	/* Names of files are kept, too: those of the first time. */
	check(close(open("/dev/null", O_RDONLY)));
	ready(getpid(), getpid());

	for (int i = 0; i < MESSAGES; i++)
		check(msgsnd(queue, &message, MESSAGE_BYTES, 0));
	for (int i = 0; i < FILES; i++) {
		files[i] = open("/dev/null", O_RDONLY);
		check(files[i]);
	}
	if (write(file, pages, FILE_BYTES) != FILE_BYTES)
		return 3;
	if (write(kept, pages, KEPT_BYTES) != KEPT_BYTES)
		return 3;
	check(fsync(file));
	check(fsync(kept));
	large = make_map(16, 4096);
	small = make_map(24, 512);
	next();

	for (int i = 0; i < MESSAGES_TAKEN; i++)
		check(msgrcv(queue, &message, MESSAGE_BYTES, 0, 0));
	for (int i = 0; i < FILES_CLOSED; i++)
		check(close(files[i]));
	check(-posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
	check(close(large));
	next();

	check(close(small));
	msgctl(queue, IPC_RMID, NULL);
	return 0;
}
