/*
 * Leaks in thousands of functions, whose names are long and the compiler's.
 *
 * usage: mangled
 *
 * Prints "ready PID TID" and begins at the first byte on standard input. At each byte, from the first on,
 * goes through functions shop::leak<N>, and each leaks one block of N + 1 bytes: in the first round
 * those of an odd N, then all. Prints "done" after each round, and ends with standard input.
 */
#include <cstdlib>
#include <utility>
#include <vector>

#include "workload.h"

#define IN_STACKS __attribute__((noinline, used))

namespace shop {

constexpr std::size_t FUNCTIONS = 2000;

struct a_rather_long_name_for_an_argument {
};

static void *volatile kept;

template <std::size_t N>
IN_STACKS void leak(const std::vector<a_rather_long_name_for_an_argument> &, const char (&)[N + 1])
{
	kept = malloc(N + 1);
	/* Not the last thing, so that the caller has a frame. */
	if (!kept)
		exit(3);
}

template <std::size_t N> IN_STACKS void call()
{
	static const char text[N + 1] = {};

	leak<N>({}, text);
	asm volatile("");
}

template <std::size_t... N> void leak_in_all(std::size_t first, std::index_sequence<N...>)
{
	static void (*const functions[])() = {call<N>...};

	for (std::size_t i = first; i < FUNCTIONS; i += first + 1)
		functions[i]();
}

} // namespace shop

int main()
{
	std::size_t first = 1;
	char byte;

	ready(getpid(), getpid());
	do {
		shop::leak_in_all(first, std::make_index_sequence<shop::FUNCTIONS>());
		first = 0;
		printf("done\n");
		fflush(stdout);
	} while (read(STDIN_FILENO, &byte, 1) > 0);
	return 0;
}
