/*
 * What the kernel gives when another process has done its part: see answers.h.
 *
 * usage: answers-kernel uring|memory COUNT [FOLDER]
 *
 * - uring: asker hands io_uring a read from a pipe, into which answerer writes; ends with status 3
 *   where that is forbidden
 * - memory: it touches memory, and has no more in its cgroup, which is at FOLDER, of version 1:
 *   there the kernel lets it wait, until answerer raises the limit
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "answers.h"

#define FORBIDDEN 3
#define PAGE	  4096
/* What asker touches for each answer: one table of pages. It has a
 * half of that too much at the beginning. */
#define STEP (2L << 20)

static int uring;
/* There is one request at a time. */
static struct {
	_Atomic unsigned int *tail, *done_head;
	unsigned int *array, mask;
	struct io_uring_sqe *requests;
} rings;
static char *next;
static long limit;

static void *mapped(off_t what)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, uring, what);

	MUST(at != MAP_FAILED);
	return at;
}

static void make_asking(void)
{
	make_pipe(&answerers->heard, &answerers->ask);
}

static void make_uring(void)
{
	struct io_uring_params params = {0};
	void *asked, *done;

	make_asking();
	make_pipe(&answerers->from, &answerers->answer);
	uring = syscall(SYS_io_uring_setup, 1, &params);
	if (uring < 0 && (errno == ENOSYS || errno == EPERM))
		exit(FORBIDDEN);
	MUST(uring >= 0);
	asked = mapped(IORING_OFF_SQ_RING);
	done = mapped(IORING_OFF_CQ_RING);
	rings.requests = mapped(IORING_OFF_SQES);
	rings.tail = asked + params.sq_off.tail;
	rings.array = asked + params.sq_off.array;
	rings.mask = *(unsigned int *)(asked + params.sq_off.ring_mask);
	rings.done_head = done + params.cq_off.head;
}

static void wait_in_uring(void)
{
	static char byte;
	unsigned int at = *rings.tail & rings.mask;

	rings.requests[at] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
						   .fd = answerers->from,
						   .addr = (unsigned long)&byte,
						   .len = 1};
	rings.array[at] = at;
	atomic_fetch_add(rings.tail, 1);
	MUST(syscall(SYS_io_uring_enter, uring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	atomic_fetch_add(rings.done_head, 1);
}

static void set_in_cgroup(const char *name, long number)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	MUST((file = fopen(path, "w")) != NULL);
	MUST(fprintf(file, "%ld", number) > 0 && fclose(file) == 0);
}

static void make_memory(void)
{
	make_asking();
	next = mmap(NULL, (count + 1) * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	MUST(next != MAP_FAILED && small_pages(next, (count + 1) * STEP));
	limit = STEP / 2;
	set_in_cgroup("memory.swappiness", 0);
	/* Nobody is killed. */
	set_in_cgroup("memory.oom_control", 1);
	set_in_cgroup("memory.limit_in_bytes", limit);
}

/* Only asker. */
static void enter_cgroup(void)
{
	set_in_cgroup("cgroup.procs", getpid());
}

static void touch(void)
{
	for (char *end = next + STEP; next < end; next += PAGE)
		*(volatile char *)next = 1;
}

static void raise_limit(struct answerer *who)
{
	(void)who;
	limit += STEP + PAGE;
	set_in_cgroup("memory.limit_in_bytes", limit);
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{"uring", make_uring, NULL, wait_in_uring, write_answer, 0},
		{"memory", make_memory, enter_cgroup, touch, raise_limit, 0},
	};

	return argc > 2 ? run_answers(argv, ways) : 2;
}
