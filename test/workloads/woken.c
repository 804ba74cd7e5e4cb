/*
 * A thread that sleeps until it is woken in one way, beside one that never sleeps.
 *
 * usage: woken nanosleep|timerfd|pipe|futex|udp|quiet|idle COUNT
 *
 * The threads "sleeper" and "bystander" share CPU 0; bystander never enters the kernel by itself.
 * The main thread, on CPU 1, wakes sleeper COUNT times by way of a pipe, of a futex, or of UDP on
 * the loopback device, each time only once it sleeps; or sleeper is woken by a timer. With quiet it
 * is a pipe, and bystander is on CPU 1, so that CPU 0 may be idle and be sent an interrupt to wake
 * sleeper. With idle, sleeper leaves CPU 0 idle each time, and bystander, and one more like it, may
 * run on either CPU, to which they are sent back to CPU 1 each time.
 *
 * Prints "ready PID SLEEPER" and begins at the first byte on standard input. Prints "done
 * BYSTANDER" when it is, its thread's number, and ends at the next byte.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "workload.h"

#define NAP_NS 2000000
/* Each after one sleep of the sleeper's: see until_asleep. */
#define STATUS_BYTES 4096

static const char *way;
static long count;
static int fed[2], begin[2], sender, receiver;
static atomic_int sleeper_tid, bystander_tid, other_tid;
static _Atomic uint32_t word;

static int is(const char *name)
{
	return strcmp(way, name) == 0;
}

static void must(int works)
{
	if (!works)
		exit(2);
}

static void *stay_busy(void *tid)
{
	prctl(PR_SET_NAME, "bystander");
	pin(0, is("quiet") ? 1 : 0);
	atomic_store((atomic_int *)tid, syscall(SYS_gettid));
	for (;;)
		;
	return NULL;
}

static __attribute__((noinline)) void sleep_once(long i, int timer)
{
	struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t expired;
	char byte;

	if (is("nanosleep") || is("idle"))
		nanosleep(&nap, NULL);
	else if (is("timerfd"))
		must(read(timer, &expired, sizeof(expired)) == sizeof(expired));
	else if (is("pipe") || is("quiet"))
		must(read(fed[0], &byte, 1) == 1);
	else if (is("udp"))
		must(recv(receiver, &byte, 1, 0) == 1);
	else
		while (atomic_load(&word) == (uint32_t)i)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, (uint32_t)i, NULL, NULL, 0);
}

static void *sleep_often(void *unused)
{
	struct itimerspec period = {.it_value.tv_nsec = NAP_NS, .it_interval.tv_nsec = NAP_NS};
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	char byte;

	(void)unused;
	prctl(PR_SET_NAME, "sleeper");
	pin(0, 0);
	atomic_store(&sleeper_tid, syscall(SYS_gettid));
	must(read(begin[0], &byte, 1) == 1);
	must(timer >= 0);
	if (is("timerfd"))
		must(timerfd_settime(timer, 0, &period, NULL) == 0);
	for (long i = 0; i < count; i++)
		sleep_once(i, timer);
	return NULL;
}

/* How often the sleeper went to sleep; -1: it is awake. */
static long sleeps(void)
{
	char path[64], status[STATUS_BYTES];
	const char *state, *switches;
	FILE *file;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", atomic_load(&sleeper_tid));
	file = fopen(path, "r");
	must(file != NULL);
	bytes = fread(status, 1, sizeof(status) - 1, file);
	fclose(file);
	status[bytes] = 0;
	state = strstr(status, "\nState:\t");
	switches = strstr(status, "\nvoluntary_ctxt_switches:\t");
	must(state && switches);
	return state[8] == 'S' ? atol(switches + 26) : -1;
}

/* It has left its CPU since it had slept so often. Returns how often it has now. */
static long until_asleep(long before)
{
	long now;

	do {
		now = sleeps();
	} while (now <= before);
	return now;
}

static __attribute__((noinline)) void wake(long i)
{
	if (is("pipe") || is("quiet")) {
		must(write(fed[1], "x", 1) == 1);
	} else if (is("udp")) {
		must(send(sender, "x", 1, 0) == 1);
	} else if (is("futex")) {
		atomic_store(&word, (uint32_t)i + 1);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

/* Sends both busy threads to CPU 1, where one is too many, and lets them go. */
static void crowd(void)
{
	int tids[] = {atomic_load(&bystander_tid), atomic_load(&other_tid)};
	cpu_set_t both;

	CPU_ZERO(&both);
	CPU_SET(0, &both);
	CPU_SET(1, &both);
	for (int i = 0; i < 2; i++)
		pin(tids[i], 1);
	for (int i = 0; i < 2; i++)
		must(sched_setaffinity(tids[i], sizeof(both), &both) == 0);
	usleep(NAP_NS / 1000);
}

static void connect_sockets(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t bytes = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	receiver = socket(AF_INET, SOCK_DGRAM, 0);
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	must(bind(receiver, (struct sockaddr *)&address, bytes) == 0);
	must(getsockname(receiver, (struct sockaddr *)&address, &bytes) == 0);
	must(connect(sender, (struct sockaddr *)&address, bytes) == 0);
}

int main(int argc, char **argv)
{
	pthread_t sleeper, bystander, other;
	long slept = -1;

	must(argc == 3);
	way = argv[1];
	count = atol(argv[2]);
	must(pipe(fed) == 0 && pipe(begin) == 0);
	if (is("udp"))
		connect_sockets();
	pin(0, 1);
	must(pthread_create(&sleeper, NULL, sleep_often, NULL) == 0);
	must(pthread_create(&bystander, NULL, stay_busy, &bystander_tid) == 0);
	if (is("idle"))
		must(pthread_create(&other, NULL, stay_busy, &other_tid) == 0);
	while (!atomic_load(&sleeper_tid) || !atomic_load(&bystander_tid) ||
	       (is("idle") && !atomic_load(&other_tid)))
		usleep(1000);
	slept = until_asleep(slept);
	ready(getpid(), atomic_load(&sleeper_tid));
	must(write(begin[1], "x", 1) == 1);
	for (long i = 0; i < count; i++) {
		if (is("idle")) {
			crowd();
		} else if (!is("nanosleep") && !is("timerfd")) {
			slept = until_asleep(slept);
			wake(i);
		}
	}
	pthread_join(sleeper, NULL);
	printf("done %d\n", atomic_load(&bystander_tid));
	return stay();
}
