/*
 * Has files mapped as code, and does nothing.
 *
 * usage: maps FILE...
 *
 * Prints "ready PID TID"; ends at the first byte on standard input.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "workload.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		struct stat stat;

		if (fd < 0 || fstat(fd, &stat) ||
		    mmap(NULL, stat.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
			    MAP_FAILED)
			return 2;
		close(fd);
	}
	ready(getpid(), getpid());
	return 0;
}
