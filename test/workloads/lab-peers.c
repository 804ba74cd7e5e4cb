/*
 * The latency lab (lab.h): a thread that waits for another process, at the other end of a socket or
 * a pipe.
 *
 * usage: lab-peers peer|reader|dns SEED
 *
 * - peer: "client" asks "pricer" over TCP in ask_price(); pricer sleeps for 30 to 50 ms before each
 *   answer, in work_out_price()
 * - reader: "producer" writes to a pipe in push_log(); "digester" reads it in portions, and sleeps
 * for 2 to 6 ms before each, in digest_slowly()
 * - dns: "resolver" waits 200 to 500 ms for an answer over UDP, in resolve_name(); "silent" has the
 *   port, and never answers
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "lab.h"

#define PORTION (16 << 10)

static unsigned long long work_ns;
static int ends[2], timeout_msec;
static struct sockaddr_in address = {.sin_family = AF_INET};
static char data[4 * PORTION];

static int bound(int type)
{
	int fd = socket(AF_INET, type, 0);
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(fd >= 0 && !bind(fd, (struct sockaddr *)&address, size));
	must(!getsockname(fd, (struct sockaddr *)&address, &size));
	return fd;
}

static int connected(int type)
{
	int fd = socket(AF_INET, type, 0);

	must(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

TELLING void work_out_price(void)
{
	sleep_ns(work_ns);
	KEEP_FRAME();
}

static void run_pricer(void)
{
	int fd = accept(ends[0], NULL, NULL);

	must(fd >= 0);
	for (;;) {
		receive_byte(fd);
		work_out_price();
		send_byte(fd);
	}
}

TELLING void ask_price(void)
{
	send_byte(ends[1]);
	receive_byte(ends[1]);
	KEEP_FRAME();
}

static void ask(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	ask_price();
	self->guilty_ns += now_ns() - begin_ns;
}

static void set_up_peer(void)
{
	work_ns = between(30, 50) * MSEC;
	ends[0] = bound(SOCK_STREAM);
	must(!listen(ends[0], 1));
	helper_of("pricer", run_pricer);
	close(ends[0]);
	ends[1] = connected(SOCK_STREAM);
	thread_of("client", ask, 0);
}

TELLING void digest_slowly(void)
{
	sleep_ns(work_ns);
	KEEP_FRAME();
}

static void run_digester(void)
{
	close(ends[1]);
	for (;;) {
		digest_slowly();
		must(read(ends[0], data, PORTION) > 0);
	}
}

TELLING void push_log(void)
{
	must(write(ends[1], data, sizeof(data)) > 0);
	KEEP_FRAME();
}

static void push(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	push_log();
	self->guilty_ns += now_ns() - begin_ns;
}

static void set_up_reader(void)
{
	work_ns = between(2, 6) * MSEC;
	must(!pipe(ends));
	helper_of("digester", run_digester);
	close(ends[0]);
	thread_of("producer", push, 0);
}

static void run_silent(void)
{
	pause();
}

TELLING void resolve_name(void)
{
	struct pollfd fd = {.fd = ends[1], .events = POLLIN};

	must(send(ends[1], "name?", 5, 0) == 5);
	must(poll(&fd, 1, timeout_msec) == 0);
	KEEP_FRAME();
}

static void resolve(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	resolve_name();
	self->guilty_ns += now_ns() - begin_ns;
	spin(2 * MSEC);
}

static void set_up_dns(void)
{
	timeout_msec = between(200, 500);
	ends[0] = bound(SOCK_DGRAM);
	helper_of("silent", run_silent);
	close(ends[0]);
	ends[1] = connected(SOCK_DGRAM);
	thread_of("resolver", resolve, 0);
}

int main(int argc, char **argv)
{
	static const struct trouble troubles[] = {
		{"peer", set_up_peer},
		{"reader", set_up_reader},
		{"dns", set_up_dns},
		{NULL, NULL},
	};

	return lab_main(argc, argv, troubles);
}
