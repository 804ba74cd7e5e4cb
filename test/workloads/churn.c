/*
 * Threads that come and go.
 *
 * usage: churn COUNT
 *
 * Prints "ready PID TID" and begins at the first byte on standard input: COUNT threads in all, 32
 * at a time; each sleeps once and ends. Then prints "done", and ends at the next byte.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "workload.h"

#define AT_A_TIME 32

static void *work(void *unused)
{
	(void)unused;
	usleep(100);
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	pthread_t threads[AT_A_TIME];

	ready(getpid(), getpid());
	for (long done = 0; done < count; done += AT_A_TIME) {
		int n = count - done < AT_A_TIME ? count - done : AT_A_TIME;

		for (int i = 0; i < n; i++) {
			if (pthread_create(&threads[i], NULL, work, NULL))
				return 2;
		}
		for (int i = 0; i < n; i++)
			pthread_join(threads[i], NULL);
	}
	printf("done\n");
	return stay();
}
