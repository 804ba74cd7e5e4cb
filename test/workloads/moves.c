/*
 * Calls that move known numbers of bytes, and calls that fail for known reasons.
 *
 * usage: moves COUNT
 *
 * Prints "ready PID TID". At the first byte on standard input, COUNT times: each of the calls below
 * moves the number of bytes that stands there, and a write and a read fail. Then prints "done
 * COUNT", and ends at the next byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "workload.h"

#define MOVE(bytes, call)                                                                          \
	do {                                                                                       \
		if ((call) != (bytes))                                                             \
			exit(2);                                                                   \
	} while (0)

static char buffer[4096];

static void move(int file, int other, const int pipes[2], const int sockets[2])
{
	struct iovec two[2] = {{buffer, 100}, {buffer + 100, 1000}};
	struct msghdr message = {.msg_iov = two, .msg_iovlen = 2};
	loff_t from = 0, to = 0;
	off_t at = 0;

	MOVE(4001, pwrite(file, buffer, 4001, 0));
	MOVE(3001, pread(file, buffer, 3001, 0));
	two[1].iov_len = 11 - 1;
	MOVE(110, pwritev(file, two, 2, 0));
	two[1].iov_len = 13;
	MOVE(113, preadv(file, two, 2, 0));
	two[1].iov_len = 17;
	MOVE(117, pwritev2(file, two, 2, 0, 0));
	two[1].iov_len = 19;
	MOVE(119, preadv2(file, two, 2, 0, 0));
	two[1].iov_len = 23;
	MOVE(123, writev(pipes[1], two, 2));
	MOVE(123, readv(pipes[0], two, 2));
	MOVE(31, sendto(sockets[0], buffer, 31, 0, NULL, 0));
	MOVE(31, recvfrom(sockets[1], buffer, 1000, 0, NULL, NULL));
	two[1].iov_len = 37;
	MOVE(137, sendmsg(sockets[0], &message, 0));
	two[1].iov_len = 1000;
	MOVE(137, recvmsg(sockets[1], &message, 0));
	MOVE(1001, sendfile(pipes[1], file, &at, 1001));
	MOVE(1001, read(pipes[0], buffer, sizeof(buffer)));
	MOVE(1511, splice(file, &from, pipes[1], NULL, 1511, 0));
	MOVE(1511, read(pipes[0], buffer, sizeof(buffer)));
	from = 0;
	MOVE(2003, copy_file_range(file, &from, other, &to, 2003, 0));
	MOVE(-1, write(-1, buffer, 4096));
	MOVE(-1, read(-1, buffer, 4096));
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	char names[2][32] = {"/tmp/tstrace-moves-XXXXXX", "/tmp/tstrace-moves-XXXXXX"};
	int pipes[2], sockets[2], file, other;

	file = mkstemp(names[0]);
	other = mkstemp(names[1]);
	unlink(names[0]);
	unlink(names[1]);
	if (file < 0 || other < 0 || pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 2;
	ready(getpid(), getpid());
	for (long i = 0; i < count; i++)
		move(file, other, pipes, sockets);
	printf("done %ld\n", count);
	return stay();
}
