/*
 * Exceptions in flight through several functions, in a way that test/live/torture.test.ts knows.
 *
 * usage: torture-throws naps|spins
 *
 * Prints "ready PID" and ends at the end of standard input.
 */
extern "C" {
#include "torture.h"

int t_spinning;
volatile int t_done;

FUNCTION static void t_destructor()
{
	t_once();
	AND_RETURN;
}

struct Waits {
	/* Or it is one more function on the way. */
	__attribute__((always_inline)) ~Waits()
	{
		t_destructor();
	}
};

FUNCTION static void t_throws(int depth)
{
	t_once();
	throw depth;
}

FUNCTION static void t_unwound(int depth)
{
	Waits waits;

	t_throws(depth);
	AND_RETURN;
}

FUNCTION static void t_between(int depth)
{
	volatile char memory[200] = {(char)depth};

	t_unwound(depth + memory[0]);
	AND_RETURN;
}

FUNCTION static void t_catches(void)
{
	try {
		t_between(3);
	} catch (int depth) {
		t_once();
		AND_RETURN;
	}
}

static void *t_thread(void *unused)
{
	while (!t_done)
		t_catches();
	return unused;
}
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	t_spinning = argc > 1 && !strcmp(argv[1], "spins");
	if (pthread_create(&thread, NULL, t_thread, NULL))
		return 2;
	printf("ready %d\n", getpid());
	fflush(stdout);
	return read(0, &byte, 1) > 0;
}
