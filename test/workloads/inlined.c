/*
 * Burns CPU time in a function that was inlined into one that was inlined into a third.
 *
 * usage: inlined ROUNDS
 *
 * The symbol `inlined_here` is the address of an instruction in it. Compiled with -g.
 */
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned long innermost(unsigned long sum,
								     unsigned long round)
{
	__asm__ volatile(".globl inlined_here\ninlined_here: nop");
	return sum * 31 + (round ^ sum >> 7);
}

static inline __attribute__((always_inline)) unsigned long middle(unsigned long sum,
								  unsigned long rounds)
{
	for (unsigned long round = 0; round < rounds; round++)
		sum = innermost(sum, round);
	return sum;
}

__attribute__((noinline)) unsigned long outer(unsigned long rounds)
{
	return middle(rounds, rounds);
}

int main(int argc, char **argv)
{
	return argc > 1 && outer(strtoul(argv[1], NULL, 10)) == 1;
}
