/*
 * The latency lab (lab.h): threads that wait for other threads of their process.
 *
 * usage: lab-locks convoy|holder|pool|mmap SEED
 *
 * - convoy: four threads "fast" and one "slow" take till_lock in turn. slow sleeps for 10 to 20 ms
 * in count_slowly() while it has it; the others have it for 0.2 ms. They wait in take_till()
 * - holder: "holder" has index_lock for 60 to 150 ms, in which it sleeps in rebuild_index(), or,
 * for odd seeds, computes there; two to four threads "lookup" wait in look_up()
 * - pool: five to eight threads "submitter" put a job each into a queue, and wait for its end in
 *   await_result(); two threads "worker" sleep for 15 to 25 ms in do_job() for each
 * - mmap: three to five threads "mapper" map memory, touch and unmap it in map_a_little(); another
 *   process, "auditor", reads how much memory they have (audit()), and has the lock of the address
 *   space meanwhile
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lab.h"

#define QUICK_NS    (200 * USEC)
#define LITTLE	    (256 << 10)
#define MOST_QUEUED 64
#define MOST_JOBS   16
#define URGENT	    (-15)

struct job {
	pthread_mutex_t mutex;
	pthread_cond_t done;
	int is_done;
};

/* With names, so that a tool can tell them. */
pthread_mutex_t till_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
/* One for each thread. */
struct job jobs[MOST_JOBS];

static unsigned long long hold_ns, pause_ns;
static int computes;
static struct job *queue[MOST_QUEUED];
static unsigned int queue_begin, queue_end;
static size_t audited_bytes;
static pid_t audited;

TELLING void take_till(void)
{
	pthread_mutex_lock(&till_lock);
	KEEP_FRAME();
}

TELLING void count_slowly(void)
{
	sleep_ns(hold_ns);
	KEEP_FRAME();
}

TELLING void count_quickly(void)
{
	spin(QUICK_NS);
	KEEP_FRAME();
}

static void be_fast(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	take_till();
	self->guilty_ns += now_ns() - begin_ns;
	count_quickly();
	pthread_mutex_unlock(&till_lock);
	/* Who unlocks and locks at once is ahead of all who wait. */
	sleep_ns(QUICK_NS);
}

static void be_slow(struct thread *self)
{
	unsigned long long begin_ns;

	take_till();
	begin_ns = now_ns();
	count_slowly();
	self->other_ns += now_ns() - begin_ns;
	pthread_mutex_unlock(&till_lock);
	sleep_ns(pause_ns);
}

static void convoy(void)
{
	unsigned int slow = between(0, 4);

	hold_ns = between(10, 20) * MSEC;
	pause_ns = between(1, 2) * MSEC;
	for (unsigned int i = 0; i < 5; i++)
		thread_of(i == slow ? "slow" : "fast", i == slow ? be_slow : be_fast, 0);
}

/* Wakes others itself, so that it is on its stack then. */
TELLING void rebuild_index(void)
{
	pthread_mutex_lock(&index_lock);
	if (computes)
		spin(hold_ns);
	else
		sleep_ns(hold_ns);
	pthread_mutex_unlock(&index_lock);
	KEEP_FRAME();
}

TELLING void look_up(void)
{
	pthread_mutex_lock(&index_lock);
	KEEP_FRAME();
}

static void hold(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	rebuild_index();
	self->other_ns += now_ns() - begin_ns;
	sleep_ns(pause_ns);
}

static void look(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	look_up();
	pthread_mutex_unlock(&index_lock);
	self->guilty_ns += now_ns() - begin_ns;
	spin(QUICK_NS);
}

static void holder(void)
{
	unsigned int count = between(2, 4);

	hold_ns = between(60, 150) * MSEC;
	pause_ns = between(4, 8) * MSEC;
	computes = seed % 2;
	thread_of("holder", hold, 0);
	while (count--)
		thread_of("lookup", look, 0);
}

TELLING void await_result(struct job *job)
{
	pthread_mutex_lock(&job->mutex);
	while (!job->is_done)
		pthread_cond_wait(&job->done, &job->mutex);
	pthread_mutex_unlock(&job->mutex);
	KEEP_FRAME();
}

TELLING void do_job(void)
{
	sleep_ns(hold_ns);
	KEEP_FRAME();
}

static void submit(struct thread *self)
{
	struct job *job = &jobs[self - threads];
	unsigned long long begin_ns = now_ns();

	job->is_done = 0;
	pthread_mutex_lock(&queue_lock);
	queue[queue_end++ % MOST_QUEUED] = job;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	await_result(job);
	self->guilty_ns += now_ns() - begin_ns;
}

/* Its job, or NULL: there has been none for a while. */
static struct job *next_job(void)
{
	struct job *job = NULL;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&queue_lock);
	while (queue_begin == queue_end && atomic_load(&over) == 0)
		if (pthread_cond_timedwait(&queue_filled, &queue_lock, &until))
			break;
	if (queue_begin != queue_end)
		job = queue[queue_begin++ % MOST_QUEUED];
	pthread_mutex_unlock(&queue_lock);
	return job;
}

static void serve(struct thread *self)
{
	struct job *job = next_job();
	unsigned long long begin_ns = now_ns();

	if (!job)
		return;
	do_job();
	self->other_ns += now_ns() - begin_ns;
	pthread_mutex_lock(&job->mutex);
	job->is_done = 1;
	pthread_cond_signal(&job->done);
	pthread_mutex_unlock(&job->mutex);
}

static void pool(void)
{
	unsigned int count = between(5, 8);

	hold_ns = between(15, 25) * MSEC;
	for (int i = 0; i < MOST_JOBS; i++) {
		pthread_mutex_init(&jobs[i].mutex, NULL);
		pthread_cond_init(&jobs[i].done, NULL);
	}
	for (int i = 0; i < 2; i++)
		thread_of("worker", serve, 1);
	while (count--)
		thread_of("submitter", submit, 0);
}

TELLING void map_a_little(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *memory = mmap(NULL, LITTLE, PROT_READ | PROT_WRITE, flags, -1, 0);

	must(memory != MAP_FAILED);
	memory[0] = 1;
	munmap(memory, LITTLE);
	KEEP_FRAME();
}

static void map(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	map_a_little();
	self->guilty_ns += now_ns() - begin_ns;
}

TELLING void audit(int fd)
{
	char text[4096];

	must(pread(fd, text, sizeof(text), 0) > 0);
	KEEP_FRAME();
}

static void run_auditor(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", audited);
	fd = open(path, O_RDONLY);
	must(fd >= 0);
	for (;;)
		audit(fd);
}

static void map_and_audit(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
	unsigned int count = between(3, 5);
	void *memory;

	/* What else runs on the machine does not keep whoever has the lock from its CPU. */
	must(setpriority(PRIO_PROCESS, 0, URGENT) == 0);
	audited = getpid();
	audited_bytes = (size_t)between(512, 1024) << 20;
	helper_of("auditor", run_auditor);
	/* Small pages, each of which it looks at. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	memory = mmap(NULL, audited_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	must(memory != MAP_FAILED);
	while (count--)
		thread_of("mapper", map, 0);
}

int main(int argc, char **argv)
{
	static const struct trouble troubles[] = {
		{"convoy", convoy},	 {"holder", holder}, {"pool", pool},
		{"mmap", map_and_audit}, {NULL, NULL},
	};

	return lab_main(argc, argv, troubles);
}
