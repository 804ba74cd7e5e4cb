/*
 * Two threads that wait for each other's mutexes for ever, and one that waits for one of them.
 *
 * usage: deadlock
 *
 * Thread "left" locks left_mutex, thread "right" right_mutex; then each wants the other one's.
 * Thread "late" wants left_mutex. Prints "ready PID LEFT" when all of them wait, LEFT being the
 * number of left, and "done RIGHT LATE" behind the first byte on standard input. Ends at the next
 * byte.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "workload.h"

pthread_mutex_t left_mutex, right_mutex;
static pthread_barrier_t both_have;
static atomic_int tids[3];

static void *lock_both(void *number)
{
	int is_left = (long)number == 0;

	prctl(PR_SET_NAME, is_left ? "left" : "right");
	pthread_mutex_lock(is_left ? &left_mutex : &right_mutex);
	pthread_barrier_wait(&both_have);
	atomic_store(&tids[(long)number], syscall(SYS_gettid));
	pthread_mutex_lock(is_left ? &right_mutex : &left_mutex);
	return NULL;
}

static void *lock_late(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "late");
	pthread_barrier_wait(&both_have);
	atomic_store(&tids[2], syscall(SYS_gettid));
	pthread_mutex_lock(&left_mutex);
	return NULL;
}

int main(void)
{
	void *(*runs[])(void *) = {lock_both, lock_both, lock_late};
	pthread_t threads[3];

	pthread_barrier_init(&both_have, NULL, 3);
	for (long i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, runs[i], (void *)i))
			return 2;
	for (int i = 0; i < 3; i++)
		while (!atomic_load(&tids[i]) || state_of(atomic_load(&tids[i])) != 'S')
			sched_yield();
	ready(getpid(), atomic_load(&tids[0]));
	printf("done %d %d\n", atomic_load(&tids[1]), atomic_load(&tids[2]));
	return stay();
}
