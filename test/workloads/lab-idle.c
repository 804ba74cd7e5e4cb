/*
 * The latency lab (lab.h): a server that is well, and has little to do.
 *
 * usage: lab-idle idle SEED
 *
 * "server" waits in epoll for requests on two to five connections, and hands each to one of three
 * to six threads "worker", which wait for work on a condition variable and answer at once. A
 * process of its own, "client", asks ten times a second.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "lab.h"

#define MOST_CONNECTIONS 5
#define MOST_QUEUED	 64
#define BETWEEN_NS	 (100 * MSEC)
#define ANSWER_NS	 (100 * USEC)
/* In the queue, for the worker that takes it: the end. */
#define NO_MORE -1

static int epoll, woken, accepted[MOST_CONNECTIONS], asking[MOST_CONNECTIONS];
static unsigned int connections, workers, queue_begin, queue_end;
static int queue[MOST_QUEUED];
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;

static void enqueue(int fd)
{
	pthread_mutex_lock(&queue_lock);
	queue[queue_end++ % MOST_QUEUED] = fd;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

TELLING int wait_for_requests(void)
{
	struct epoll_event event;

	must(epoll_wait(epoll, &event, 1, -1) == 1);
	KEEP_FRAME();
	return event.data.fd;
}

TELLING int wait_for_job(void)
{
	int fd;

	pthread_mutex_lock(&queue_lock);
	while (queue_begin == queue_end)
		pthread_cond_wait(&queue_filled, &queue_lock);
	fd = queue[queue_begin++ % MOST_QUEUED];
	pthread_mutex_unlock(&queue_lock);
	KEEP_FRAME();
	return fd;
}

static void take_requests(struct thread *self)
{
	int fd = wait_for_requests();
	char byte;

	(void)self;
	if (fd == woken)
		return;
	must(recv(fd, &byte, 1, 0) == 1);
	enqueue(fd);
}

static void answer(struct thread *self)
{
	unsigned long long begin_ns;
	int fd = wait_for_job();

	if (fd == NO_MORE)
		return;
	begin_ns = now_ns();
	spin(ANSWER_NS);
	must(send(fd, "x", 1, 0) == 1);
	self->guilty_ns += now_ns() - begin_ns;
}

static void run_client(void)
{
	char byte;

	for (unsigned int i = 0;; i = (i + 1) % connections) {
		must(send(asking[i], "x", 1, 0) == 1);
		must(recv(asking[i], &byte, 1, 0) == 1);
		sleep_ns(BETWEEN_NS);
	}
}

static void wake_all(void)
{
	must(!eventfd_write(woken, 1));
	for (unsigned int i = 0; i < workers; i++)
		enqueue(NO_MORE);
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

static void connect_all(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(!bind(listening, (struct sockaddr *)&address, size));
	must(!listen(listening, MOST_CONNECTIONS));
	must(!getsockname(listening, (struct sockaddr *)&address, &size));
	for (unsigned int i = 0; i < connections; i++) {
		asking[i] = socket(AF_INET, SOCK_STREAM, 0);
		must(!connect(asking[i], (struct sockaddr *)&address, size));
		accepted[i] = accept(listening, NULL, NULL);
		must(accepted[i] >= 0);
	}
}

static void set_up_idle(void)
{
	connections = between(2, MOST_CONNECTIONS);
	workers = between(3, 6);
	connect_all();
	helper_of("client", run_client);
	epoll = epoll_create1(0);
	woken = eventfd(0, 0);
	watch(woken);
	for (unsigned int i = 0; i < connections; i++) {
		close(asking[i]);
		watch(accepted[i]);
	}
	at_end = wake_all;
	thread_of("server", take_requests, 0);
	for (unsigned int i = 0; i < workers; i++)
		thread_of("worker", answer, 0);
}

int main(int argc, char **argv)
{
	static const struct trouble troubles[] = {{"idle", set_up_idle}, {NULL, NULL}};

	return lab_main(argc, argv, troubles);
}
