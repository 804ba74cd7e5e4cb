/*
 * The latency lab (lab.h): a thread that waits for other processes, which wait or compute
 * themselves.
 *
 * usage: lab-chains child|away|mixture SEED FOLDER
 *
 * - child: "parent" waits in await_converter() for a process, "converter", which takes 30 to 80 ms:
 *   it sleeps in convert_slowly(), or, for some seeds, computes there
 * - away: "asker" asks "broker" over a unix socket in ask_broker(), which asks "store" over another
 *   one in ask_store(), which sleeps for 20 to 40 ms in dawdle(), or, for some seeds, writes a file
 * of FOLDER to the disk again and again in write_through()
 * - mixture: "mixed" sleeps in cool_down(), and reads a pipe in read_report() from "reporter",
 * which sleeps in compile_report(); one of them takes 55 to 75 % of the time, which is the sleep
 * for even seeds. "done" has the sleep as GUILTY and the pipe as OTHER
 *
 * An even seed is for sleep, an odd one for the other way.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>

#include "lab.h"

#define PORTION (1 << 20)

static unsigned long long work_ns, nap_ns;
static int is_odd, ends[2], more_ends[2], file;
static char data[PORTION];

TELLING void convert_slowly(void)
{
	if (is_odd)
		spin(work_ns);
	else
		sleep_ns(work_ns);
	/* Ends here, so that it is on the stack then. */
	_exit(0);
}

TELLING void await_converter(pid_t pid)
{
	must(waitpid(pid, NULL, 0) == pid);
	KEEP_FRAME();
}

static void convert(struct thread *self)
{
	unsigned long long begin_ns;
	pid_t pid;

	/* The child has its name from its first moment on, and this thread has its own again. */
	prctl(PR_SET_NAME, "converter");
	pid = fork();
	must(pid >= 0);
	if (pid == 0)
		convert_slowly();
	prctl(PR_SET_NAME, "parent");
	begin_ns = now_ns();
	await_converter(pid);
	self->guilty_ns += now_ns() - begin_ns;
}

static void set_up_child(void)
{
	work_ns = between(30, 80) * MSEC;
	is_odd = seed % 2;
	thread_of("parent", convert, 0);
}

/* Both answer themselves, so that they are on the stack of what they ran, too. */
TELLING void dawdle(int answer_to)
{
	sleep_ns(work_ns);
	send_byte(answer_to);
	KEEP_FRAME();
}

TELLING void write_through(int answer_to)
{
	unsigned long long begin_ns = now_ns();

	while (now_ns() - begin_ns < work_ns)
		must(pwrite(file, data, PORTION, 0) == PORTION && !fsync(file));
	send_byte(answer_to);
	KEEP_FRAME();
}

static void run_store(void)
{
	for (;;) {
		receive_byte(more_ends[0]);
		if (is_odd)
			write_through(more_ends[0]);
		else
			dawdle(more_ends[0]);
	}
}

TELLING void ask_store(void)
{
	send_byte(more_ends[1]);
	receive_byte(more_ends[1]);
	KEEP_FRAME();
}

static void run_broker(void)
{
	close(ends[1]);
	for (;;) {
		receive_byte(ends[0]);
		ask_store();
		send_byte(ends[0]);
	}
}

TELLING void ask_broker(void)
{
	send_byte(ends[1]);
	receive_byte(ends[1]);
	KEEP_FRAME();
}

static void ask_away(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	ask_broker();
	self->guilty_ns += now_ns() - begin_ns;
}

static void set_up_away(void)
{
	char path[512];

	work_ns = between(20, 40) * MSEC;
	is_odd = seed % 2;
	snprintf(path, sizeof(path), "%s/store", lab_folder);
	file = open(path, O_CREAT | O_RDWR, 0600);
	must(file >= 0);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, more_ends));
	helper_of("store", run_store);
	close(more_ends[0]);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	helper_of("broker", run_broker);
	close(ends[0]);
	close(more_ends[1]);
	thread_of("asker", ask_away, 0);
}

TELLING void compile_report(void)
{
	sleep_ns(work_ns);
	KEEP_FRAME();
}

static void run_reporter(void)
{
	for (;;) {
		receive_byte(more_ends[0]);
		compile_report();
		send_byte(ends[1]);
	}
}

TELLING void read_report(void)
{
	send_byte(more_ends[1]);
	receive_byte(ends[0]);
	KEEP_FRAME();
}

TELLING void cool_down(void)
{
	sleep_ns(nap_ns);
	KEEP_FRAME();
}

static void mix(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	cool_down();
	self->guilty_ns += now_ns() - begin_ns;
	begin_ns = now_ns();
	read_report();
	self->other_ns += now_ns() - begin_ns;
}

static void set_up_mixture(void)
{
	unsigned int percent = between(55, 75);

	if (seed % 2)
		percent = 100 - percent;
	nap_ns = percent * 600 * USEC;
	work_ns = (100 - percent) * 600 * USEC;
	must(!pipe(ends) && !pipe(more_ends));
	helper_of("reporter", run_reporter);
	close(ends[1]);
	close(more_ends[0]);
	thread_of("mixed", mix, 0);
}

int main(int argc, char **argv)
{
	static const struct trouble troubles[] = {
		{"child", set_up_child},
		{"away", set_up_away},
		{"mixture", set_up_mixture},
		{NULL, NULL},
	};

	return lab_main(argc, argv, troubles);
}
