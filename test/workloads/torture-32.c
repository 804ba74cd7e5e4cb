/*
 * A program of 32 bits, without a C library: waits again and again, some calls deep, as
 * test/live/torture.test.ts knows.
 *
 * usage: torture-32
 *
 * Writes "ready" and ends at the end of standard input.
 */
#define FUNCTION __attribute__((noinline, used))
#define NR_WRITE 4
#define NR_POLL	 168

static int call(int number, int a, int b, int c)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory");
	return result;
}

/* Until something comes, or the end. */
FUNCTION int t_waits(volatile int *rounds)
{
	struct {
		int fd;
		short events, came;
	} input = {0, 1, 0};

	while (call(NR_POLL, (int)&input, 1, 1) == 0)
		++*rounds;
	return input.came;
}

FUNCTION int t_middle(volatile int *rounds)
{
	return t_waits(rounds) + *rounds;
}

FUNCTION int t_outer(void)
{
	volatile int rounds = 0;

	return t_middle(&rounds) + rounds;
}

FUNCTION void t_main(void)
{
	call(NR_WRITE, 1, (int)"ready 0\n", 8);
	call(1, t_outer() & 0, 0, 0);
}

__asm__(".globl _start\n_start: xor %ebp, %ebp\nand $-16, %esp\ncall t_main\nhlt\n");
