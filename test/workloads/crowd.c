/*
 * Many threads that sleep at the same time.
 *
 * usage: crowd THREADS ROUNDS USEC
 *
 * Prints "ready PID TID" and begins at the first byte on standard input: so many threads, each of
 * which takes the name "one-of-many" and sleeps for USEC, ROUNDS times, when all of them are there.
 * When they have ended it prints "done LEAST_NS", how long they slept together at least, and ends
 * at the next byte.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>

#include "workload.h"

#define STACK_BYTES (64 << 10)

static long rounds;
static struct timespec nap;
static pthread_barrier_t all_there;

static void *work(void *unused)
{
	prctl(PR_SET_NAME, "one-of-many");
	pthread_barrier_wait(&all_there);
	for (long i = 0; i < rounds; i++)
		nanosleep(&nap, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	long threads, usec;
	pthread_t *all;
	pthread_attr_t attributes;

	if (argc != 4)
		return 2;
	threads = atol(argv[1]);
	rounds = atol(argv[2]);
	usec = atol(argv[3]);
	nap.tv_sec = usec / 1000000;
	nap.tv_nsec = usec % 1000000 * 1000;
	all = calloc(threads, sizeof(*all));
	if (!all || pthread_attr_init(&attributes) ||
	    pthread_attr_setstacksize(&attributes, STACK_BYTES) ||
	    pthread_barrier_init(&all_there, NULL, threads))
		return 2;
	ready(getpid(), getpid());
	for (long i = 0; i < threads; i++) {
		if (pthread_create(&all[i], &attributes, work, NULL))
			return 2;
	}
	for (long i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("done %lld\n", threads * rounds * usec * 1000LL);
	return stay();
}
