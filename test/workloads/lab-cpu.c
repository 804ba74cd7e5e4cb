/*
 * The latency lab (lab.h): threads that compute, or sleep.
 *
 * usage: lab-cpu spin|crowd|nap SEED
 *
 * - spin: one thread computes in add_up(). With a CPU quota from outside: `quota`
 * - crowd: three or four threads for each CPU compute in add_up()
 * - nap: one thread sleeps for 10 to 30 ms in wait_for_luck(), after 1 or 2 ms in add_up()
 */
#define _GNU_SOURCE
#include "lab.h"

static unsigned long long compute_ns, nap_ns;
static atomic_ulong sum;

/* Its loop has no call, so samples are in it and not in the clock. */
TELLING void add_up(unsigned long long time_ns)
{
	unsigned long long begin_ns = now_ns();
	volatile unsigned long part = 0;

	do {
		for (int i = 0; i < 100000; i++)
			part += i ^ part >> 3;
	} while (now_ns() - begin_ns < time_ns);
	atomic_fetch_add(&sum, part);
	KEEP_FRAME();
}

TELLING void wait_for_luck(void)
{
	sleep_ns(nap_ns);
	KEEP_FRAME();
}

static void compute(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	add_up(compute_ns);
	self->guilty_ns += now_ns() - begin_ns;
}

static void compute_and_nap(struct thread *self)
{
	unsigned long long begin_ns;

	add_up(compute_ns);
	begin_ns = now_ns();
	wait_for_luck();
	self->guilty_ns += now_ns() - begin_ns;
}

static void spin_alone(void)
{
	compute_ns = between(5, 20) * MSEC;
	thread_of("spinner", compute, 0);
}

static void crowd(void)
{
	int count = sysconf(_SC_NPROCESSORS_ONLN) * between(3, 4);

	compute_ns = between(5, 20) * MSEC;
	for (int i = 0; i < count && i < MOST_THREADS; i++)
		thread_of("crowd", compute, 0);
}

static void nap(void)
{
	compute_ns = between(1, 2) * MSEC;
	nap_ns = between(10, 30) * MSEC;
	thread_of("napper", compute_and_nap, 0);
}

int main(int argc, char **argv)
{
	static const struct trouble troubles[] = {
		{"spin", spin_alone},
		{"crowd", crowd},
		{"nap", nap},
		{NULL, NULL},
	};

	return lab_main(argc, argv, troubles);
}
