/*
 * Allocates by every function there is; what stays is known for each function of its own.
 *
 * usage: leaks KIND [COUNT]
 *
 * Prints "ready PID TID" and begins at the first byte on standard input: KIND "all" makes the leaks
 * of test/live/leaks.ts, and frees as much; "many" leaks COUNT blocks; "threads" has one thread
 * free what another allocates; "ends" has threads that end while they allocate; "execs" leaks, then
 * executes itself with "all"; "hands-over" does so from a second thread; "forks" leaks in a child,
 * which is ready once more; "vforks" in the parent, around COUNT children; "sizes" leaks known sums
 * in 100 functions; "halves" unmaps half of each of its mappings; "ring" never rests; "grows" leaks
 * in one function at each byte, and allocates in another as much as it frees; "resizes" makes one
 * block larger by a byte at each byte. Then prints "done", and ends at the next byte.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>

#include "leaks-all.h"

IN_STACKS static void leak_many(long count)
{
	TIMES(count) KEEP(malloc(16));
}

/* A queue of one: the other thread takes what is there. */
static void *_Atomic handed_over;

IN_STACKS static void *free_theirs(void *count)
{
	for (long i = 0; i < (long)count; i++) {
		void *pointer;

		while (!(pointer = __atomic_exchange_n((void **)&handed_over, NULL,
						       __ATOMIC_SEQ_CST)))
			sched_yield();
		free(pointer);
	}
	return NULL;
}

IN_STACKS static void leak_beside_thread(long count)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, free_theirs, (void *)count))
		exit(2);
	TIMES(count)
	{
		void *pointer = malloc(64);

		while (__atomic_load_n((void **)&handed_over, __ATOMIC_SEQ_CST))
			sched_yield();
		__atomic_store_n((void **)&handed_over, pointer, __ATOMIC_SEQ_CST);
		if (i % 10 == 0)
			KEEP(malloc(48));
	}
	pthread_join(thread, NULL);
}

IN_STACKS static void *allocate_for_good(void *begun)
{
	*(volatile int *)begun = 1;
	for (;;) {
		kept = malloc(24);
		free(kept);
	}
	return NULL;
}

/* The process executes itself: all its threads end wherever they are. */
static void end_in_the_middle(char **argv)
{
	static volatile int begun[4];

	TIMES(4)
	{
		pthread_t thread;

		if (pthread_create(&thread, NULL, allocate_for_good, (void *)&begun[i]))
			exit(2);
		while (!begun[i])
			sched_yield();
	}
	argv[1] = "all";
	execv("/proc/self/exe", argv);
	exit(2);
}

IN_STACKS static void leak_before(void);

static pthread_t first_thread;

static void *execute(void *argv)
{
	if (pthread_join(first_thread, NULL))
		exit(2);
	leak_before();
	/* Of the process, whose first thread is no more, /proc/self has none. */
	execv("/proc/thread-self/exe", argv);
	exit(2);
}

/* The first thread ends, and the second takes its number. */
static void hand_over(char **argv)
{
	pthread_t thread;

	argv[1] = "all";
	first_thread = pthread_self();
	if (pthread_create(&thread, NULL, execute, argv))
		exit(2);
	pthread_exit(NULL);
}

IN_STACKS static void leak_before(void)
{
	TIMES(50) KEEP(malloc(70));
}

IN_STACKS static void leak_in_child(void)
{
	TIMES(41) KEEP(malloc(123));
}

IN_STACKS static void leak_in_parent(void)
{
	TIMES(43) KEEP(malloc(321));
}

static void leak_forked(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		char byte;

		ready(getpid(), getpid());
		leak_in_child();
		/* Its memory has to be there when the test looks. */
		printf("done\n");
		fflush(stdout);
		_exit(read(STDIN_FILENO, &byte, 1) < 0);
	}
	leak_in_parent();
	/* One that somebody has killed did nothing wrong. */
	if (waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status)))
		exit(2);
}

IN_STACKS static void leak_around_vforks(long count)
{
	TIMES(count)
	{
		pid_t child = vfork();

		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		KEEP(malloc(99));
		if (waitpid(child, NULL, 0) != child)
			exit(2);
	}
}

enum { RING_BLOCKS = 64 };

/* Never more than a ring of blocks, and never at rest. */
static void *turn_ring(void *begun)
{
	static void *ring[RING_BLOCKS];

	for (unsigned i = 0;; i++) {
		free(ring[i % RING_BLOCKS]);
		ring[i % RING_BLOCKS] = malloc(16 + (i * 2654435761U >> 22));
		*(volatile int *)begun = i >= RING_BLOCKS;
	}
	return NULL;
}

static void begin_ring(void)
{
	static volatile int begun;
	pthread_t thread;

	if (pthread_create(&thread, NULL, turn_ring, (void *)&begun))
		exit(2);
	while (!begun)
		sched_yield();
}

/* Half of each mapping. */
IN_STACKS static void leak_halves(void)
{
	TIMES(2000)
	{
		char *pages = map_pages(64);

		munmap(pages, 32 * PAGE);
	}
}

/* A hundred functions; each leaks blocks of sizes of its own. */
#define SIZED(tens, ones)                                                                          \
	IN_STACKS static void leak_sizes_##tens##ones(void)                                        \
	{                                                                                          \
		TIMES(200 + 10 * tens) KEEP(malloc(16 << ones));                                   \
	}
#define SIZED10(tens)                                                                              \
	SIZED(tens, 0)                                                                             \
	SIZED(tens, 1)                                                                             \
	SIZED(tens, 2)                                                                             \
	SIZED(tens, 3)                                                                             \
	SIZED(tens, 4)                                                                             \
	SIZED(tens, 5)                                                                             \
	SIZED(tens, 6)                                                                             \
	SIZED(tens, 7)                                                                             \
	SIZED(tens, 8)                                                                             \
	SIZED(tens, 9)                                                                             \
	IN_STACKS static void leak_sizes_##tens##x(void)                                           \
	{                                                                                          \
		leak_sizes_##tens##0();                                                            \
		leak_sizes_##tens##1();                                                            \
		leak_sizes_##tens##2();                                                            \
		leak_sizes_##tens##3();                                                            \
		leak_sizes_##tens##4();                                                            \
		leak_sizes_##tens##5();                                                            \
		leak_sizes_##tens##6();                                                            \
		leak_sizes_##tens##7();                                                            \
		leak_sizes_##tens##8();                                                            \
		leak_sizes_##tens##9();                                                            \
	}
SIZED10(0)
SIZED10(1)
SIZED10(2)
SIZED10(3)
SIZED10(4)
SIZED10(5)
SIZED10(6)
SIZED10(7)
SIZED10(8)
SIZED10(9)

static void leak_sizes(void)
{
	leak_sizes_0x();
	leak_sizes_1x();
	leak_sizes_2x();
	leak_sizes_3x();
	leak_sizes_4x();
	leak_sizes_5x();
	leak_sizes_6x();
	leak_sizes_7x();
	leak_sizes_8x();
	leak_sizes_9x();
}

IN_STACKS static void leak_growing(void)
{
	TIMES(10) KEEP(malloc(1000));
}

IN_STACKS static void hold_steady(void)
{
	static void *held;

	free(held);
	KEEP(malloc(2000));
	held = kept;
}

static void grow(void)
{
	char byte;

	do {
		leak_growing();
		hold_steady();
		printf("done\n");
		fflush(stdout);
	} while (read(STDIN_FILENO, &byte, 1) > 0);
	exit(0);
}

IN_STACKS static void hold_resized(void)
{
	static void *held;
	static unsigned long size = 1000;

	KEEP(realloc(held, ++size));
	held = kept;
}

static void resize(void)
{
	char byte;

	do {
		hold_resized();
		printf("done\n");
		fflush(stdout);
	} while (read(STDIN_FILENO, &byte, 1) > 0);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;

	ready(getpid(), getpid());
	if (!strcmp(kind, "all"))
		leak_all();
	if (!strcmp(kind, "many"))
		leak_many(count);
	if (!strcmp(kind, "threads"))
		leak_beside_thread(count);
	if (!strcmp(kind, "ends"))
		end_in_the_middle(argv);
	if (!strcmp(kind, "execs")) {
		leak_before();
		argv[1] = "all";
		execv("/proc/self/exe", argv);
		return 2;
	}
	if (!strcmp(kind, "hands-over"))
		hand_over(argv);
	if (!strcmp(kind, "forks"))
		leak_forked();
	if (!strcmp(kind, "vforks"))
		leak_around_vforks(count);
	if (!strcmp(kind, "sizes"))
		leak_sizes();
	if (!strcmp(kind, "ring"))
		begin_ring();
	if (!strcmp(kind, "halves"))
		leak_halves();
	if (!strcmp(kind, "grows"))
		grow();
	if (!strcmp(kind, "resizes"))
		resize();
	printf("done\n");
	return stay();
}
