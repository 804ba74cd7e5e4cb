/*
 * Answers of threads and processes: see answers.h.
 *
 * usage: answers condition|tcp|epoll|accept COUNT
 *
 * - condition: asker waits at `condition`; answerer is a thread, and signals it
 * - tcp: it receives over loopback what answerer sends after 40 ms
 * - epoll: the same, of two at once, until both have sent: "slow" after 50 ms, "quick" after 10 ms
 * - accept: answerer connects
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "answers.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int given, listener, epoll;
static struct sockaddr_in address;
static char byte;

static void make_condition(void)
{
	make_pipe(&answerers->heard, &answerers->ask);
}

static void wait_at_condition(void)
{
	pthread_mutex_lock(&mutex);
	while (!given)
		pthread_cond_wait(&condition, &mutex);
	given = 0;
	pthread_mutex_unlock(&mutex);
}

static void signal_condition(struct answerer *who)
{
	(void)who;
	pthread_mutex_lock(&mutex);
	given = 1;
	pthread_mutex_unlock(&mutex);
	pthread_cond_signal(&condition);
}

static void listen_for(struct answerer *who)
{
	socklen_t size = sizeof(address);

	address = (struct sockaddr_in){.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	MUST((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	MUST(!bind(listener, (void *)&address, size) && !listen(listener, 1));
	MUST(!getsockname(listener, (void *)&address, &size));
	who->port = ntohs(address.sin_port);
}

static int connected(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	MUST(fd >= 0 && !connect(fd, (void *)&address, sizeof(address)));
	return fd;
}

static void make_connection(struct answerer *who)
{
	listen_for(who);
	who->ask = who->from = connected();
	MUST((who->heard = who->answer = accept(listener, NULL, NULL)) >= 0);
	close(listener);
}

static void make_tcp(void)
{
	answerers->nap_ns = 40 * MSEC;
	make_connection(answerers);
}

static void receive(void)
{
	MUST(recv(answerers->from, &byte, 1, 0) == 1);
}

static void make_epoll(void)
{
	answerers[0] = (struct answerer){.name = "slow", .nap_ns = 50 * MSEC};
	answerers[1] = (struct answerer){.name = "quick", .nap_ns = 10 * MSEC};
	MUST((epoll = epoll_create1(0)) >= 0);
	for (struct answerer *who = answerers; who < answerers + ANSWERERS; who++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = who};

		make_connection(who);
		MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, who->from, &event));
	}
}

/* Each wait is for the one that was ready first. */
static void wait_for_both(void)
{
	struct epoll_event events[ANSWERERS];
	struct answerer *who;
	unsigned long long start;
	int ready;

	for (int left = ANSWERERS; left > 0; left -= ready) {
		start = now_ns();
		MUST((ready = epoll_wait(epoll, events, ANSWERERS, -1)) > 0);
		who = events[0].data.ptr;
		who->waited_ns += now_ns() - start;
		for (int i = 0; i < ready; i++) {
			who = events[i].data.ptr;
			MUST(read(who->from, &byte, 1) == 1);
		}
	}
}

static void make_accept(void)
{
	make_pipe(&answerers->heard, &answerers->ask);
	listen_for(answerers);
}

static void accept_one(void)
{
	int fd = accept(listener, NULL, NULL);

	MUST(fd >= 0 && !close(fd));
}

static void connect_once(struct answerer *who)
{
	(void)who;
	MUST(!close(connected()));
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{"condition", make_condition, NULL, wait_at_condition, signal_condition, 1},
		{"tcp", make_tcp, NULL, receive, write_answer, 0},
		{"epoll", make_epoll, NULL, wait_for_both, write_answer, 0},
		{"accept", make_accept, NULL, accept_one, connect_once, 0},
	};

	return argc > 2 ? run_answers(argv, ways) : 2;
}
