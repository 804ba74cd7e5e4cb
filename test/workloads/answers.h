/*
 * A thread that waits for answers, and others that are late with them: what answers.c and
 * answers-kernel.c share.
 *
 * usage: NAME WAY COUNT [FOLDER]
 *
 * "asker" asks COUNT times, and waits in wait_for_answer(). Who answers sleeps in doze() first:
 * "answerer", for 20 ms, where nothing else is said; most often it is a process of its own.
 *
 * Prints "ready ASKER ANSWERER" and begins at the first byte on standard input. Prints "done NS
 * LATE WAITED PORT WAITED PORT PID", where WAITED and PORT are of the first and of the second one
 * that answers, and PID is of the second: how long the first one slept in all, how long asker was
 * not blocked, and how long it waited for the answers of each, in ns. Ends at the next byte.
 */
#ifndef ANSWERS_H
#define ANSWERS_H

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

#define MSEC	  1000000
#define ANSWERERS 2

static struct answerer {
	const char *name;
	long nap_ns;
	/* Where asker asks, and this one hears it; where this one answers, and asker hears that. */
	int ask, heard, answer, from;
	int port, pid;
	unsigned long long waited_ns;
} answerers[ANSWERERS];

struct way {
	const char *name;
	/* Before there is anybody but asker. */
	void (*make)(void);
	/* When the others are there. */
	void (*begin)(void);
	void (*wait)(void);
	void (*answer)(struct answerer *who);
	int is_thread;
};

static const struct way *way;
static long count;
static const char *folder;
static unsigned long long *slept_ns;

static inline void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(2);
}
#define MUST(what) must((what), #what)

static inline void make_pipe(int *from, int *to)
{
	int ends[2];

	MUST(!pipe(ends));
	*from = ends[0];
	*to = ends[1];
}

static inline void write_answer(struct answerer *who)
{
	MUST(write(who->answer, "x", 1) == 1);
}

static __attribute__((noinline)) void doze(long time_ns)
{
	struct timespec nap = {.tv_nsec = time_ns};

	MUST(nanosleep(&nap, NULL) == 0);
	__asm__ volatile("");
}

static __attribute__((noinline)) void wait_for_answer(void)
{
	way->wait();
	__asm__ volatile("");
}

static void *run_answerer(void *data)
{
	struct answerer *who = data;
	unsigned long long start;
	char byte;

	prctl(PR_SET_NAME, who->name);
	for (long i = 0; i < count; i++) {
		MUST(read(who->heard, &byte, 1) == 1);
		start = now_ns();
		doze(who->nap_ns);
		if (who == answerers)
			*slept_ns += now_ns() - start;
		way->answer(who);
	}
	return NULL;
}

/* Each end of what is between two of them is held by one only: this is not its holder. */
static void drop(int asked, int answered)
{
	close(asked);
	if (answered != asked)
		close(answered);
}

static void drop_ends(const struct answerer *mine)
{
	for (struct answerer *each = answerers; each < answerers + ANSWERERS && each->name;
	     each++) {
		drop(each->ask, each->from);
		if (each != mine)
			drop(each->heard, each->answer);
	}
}

static void start_answerer(struct answerer *who)
{
	pthread_t thread;

	if (way->is_thread) {
		MUST(!pthread_create(&thread, NULL, run_answerer, who));
		return;
	}
	who->pid = fork();
	MUST(who->pid >= 0);
	if (who->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		drop_ends(who);
		run_answerer(who);
		for (;;)
			pause();
	}
}

static void ask(void)
{
	for (struct answerer *who = answerers; who < answerers + ANSWERERS && who->name; who++)
		MUST(write(who->ask, "x", 1) == 1);
}

static int run_answers(char **argv, const struct way *ways)
{
	struct answerer *one = answerers, *two = answerers + 1;
	struct schedstat before, after;
	unsigned long long start, asked_ns = 0;

	for (way = ways; strcmp(way->name, argv[1]) != 0; way++)
		;
	count = atol(argv[2]);
	folder = argv[3];
	slept_ns = mmap(NULL, sizeof(*slept_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	MUST(slept_ns != MAP_FAILED);
	*one = (struct answerer){.name = "answerer", .nap_ns = 20 * MSEC, .answer = -1, .from = -1};
	way->make();
	for (struct answerer *who = one; who < answerers + ANSWERERS && who->name; who++)
		start_answerer(who);
	for (struct answerer *who = one; who <= two && who->pid; who++)
		drop(who->heard, who->answer);
	prctl(PR_SET_NAME, "asker");
	if (way->begin)
		way->begin();
	ready(getpid(), way->is_thread ? getpid() : one->pid);
	before = read_schedstat(getpid());
	for (long i = 0; i < count; i++) {
		start = now_ns();
		ask();
		wait_for_answer();
		asked_ns += now_ns() - start;
	}
	after = read_schedstat(getpid());
	printf("done %llu %llu %llu %d %llu %d %d\n", *slept_ns,
	       after.run_ns + after.delay_ns - before.run_ns - before.delay_ns,
	       two->name ? one->waited_ns : asked_ns, one->port, two->waited_ns, two->port,
	       two->pid);
	stay();
	for (struct answerer *who = one; who <= two && who->pid; who++) {
		kill(who->pid, SIGKILL);
		waitpid(who->pid, NULL, 0);
	}
	return 0;
}

#endif
