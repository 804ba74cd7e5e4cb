/*
 * Threads whose stacks are hard to walk, each in a way that test/live/torture.test.ts knows.
 *
 * usage: torture naps|spins
 *
 * Prints "ready PID" and ends at the end of standard input.
 */
#include "torture.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#include "torture-asm.h"

int t_spinning;
volatile int t_done;

FUNCTION static void t_alloca(int bytes)
{
	char *memory = alloca(bytes);

	memset(memory, bytes, bytes);
	t_leaf();
	__asm__ volatile("" : : "r"(memory) : "memory");
}

/* It needs a register beside the stack pointer for each of the two. */
FUNCTION static void t_aligned(int bytes)
{
	char memory[128] __attribute__((aligned(128)));

	memset(memory, bytes, sizeof(memory));
	t_alloca(bytes + memory[5] - bytes);
	__asm__ volatile("" : : "r"(memory), "r"(alloca(bytes)) : "memory");
}

FUNCTION static long t_recurses(long depth)
{
	volatile long local = depth;

	if (depth == 0)
		t_leaf();
	else
		local += t_recurses(depth - 1);
	return local + 1;
}

/* Its last instruction is the call. */
FUNCTION static __attribute__((noreturn)) void t_never(void)
{
	t_leaf();
	__builtin_unreachable();
}

FUNCTION static void t_long_jumps(jmp_buf back)
{
	t_once();
	longjmp(back, 1);
}

FUNCTION static void t_set_jumps(void)
{
	jmp_buf back;

	while (!t_done) {
		if (!setjmp(back))
			t_long_jumps(back);
		t_once();
	}
}

#ifdef __x86_64__
/* Of pthread_attr_setguardsize, in the table of jumps; in static programs there is none, and it is
 * its own. */
static void *plt_entry;

static void find_plt_entry(void)
{
	__asm__("lea pthread_attr_setguardsize@PLT(%%rip), %0" : "=r"(plt_entry));
}

/*
 * Calls it, with all addresses on the way taken out of the CPU's caches: so the call takes long,
 * and so does the jump. Some CPUs take an interrupt before an instruction that takes long, others
 * behind it; an instruction between fast ones may never see any.
 */
static inline __attribute__((always_inline)) void call_by_plt(pthread_attr_t *attributes,
							      long bytes)
{
	const unsigned char *code = plt_entry;
	int distance;

	/* jmp *distance(%rip), perhaps behind endbr64 and with a prefix. */
	for (int i = 0; i < 6; i++)
		if (code[i] == 0xff && code[i + 1] == 0x25) {
			memcpy(&distance, code + i + 2, sizeof(distance));
			__builtin_ia32_clflush(code + i + 6 + distance);
		}
	__builtin_ia32_clflush(&plt_entry);
	__asm__ volatile("call *%2"
			 : "+D"(attributes), "+S"(bytes)
			 : "m"(plt_entry)
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
}
#else
static void find_plt_entry(void)
{
}

static inline __attribute__((always_inline)) void call_by_plt(pthread_attr_t *attributes,
							      long bytes)
{
	pthread_attr_setguardsize(attributes, bytes);
}
#endif

/* Calls a short function of another file, mostly: by a table of jumps. */
FUNCTION static void t_calls_plt(void)
{
	pthread_attr_t attributes;

	find_plt_entry();
	while (!t_done) {
		for (int i = 0; i < 10000 && t_spinning; i++)
			call_by_plt(&attributes, i);
		if (!t_spinning)
			t_once();
	}
}

static void t_handler(int number)
{
	t_aligned(number + 100);
	AND_RETURN;
}

static void use_other_stack(void)
{
	stack_t stack = {.ss_size = 1 << 16};

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
}

FUNCTION static void t_raises(void)
{
	use_other_stack();
	pthread_kill(pthread_self(), SIGUSR1);
	AND_RETURN;
}

FUNCTION static void t_calls_faulting(void)
{
	use_other_stack();
	t_faults(NULL);
	AND_RETURN;
}

FUNCTION static void t_coroutine(void)
{
	t_alloca(77);
	AND_RETURN;
}

FUNCTION static void t_switches(void)
{
#ifdef __GLIBC__
	static ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_size = 1 << 16;
	there.uc_stack.ss_sp = malloc(there.uc_stack.ss_size);
	there.uc_link = &here;
	makecontext(&there, t_coroutine, 0);
	swapcontext(&here, &there);
#endif
	AND_RETURN;
}

FUNCTION static void t_by_made(void)
{
	t_leaf();
	AND_RETURN;
}

FUNCTION static void t_calls_made(void)
{
	char *code = mmap(NULL, sizeof(made_code), PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, made_code, sizeof(made_code));
	__builtin___clear_cache(code, code + sizeof(made_code));
	((void (*)(void (*)(void)))code)(t_by_made);
	AND_RETURN;
}

static char *volatile victims_stack;

FUNCTION static void t_victim(void)
{
	/* All above this, with the way back, is rewritten. */
	char memory[64];

	__asm__ volatile("" : : "r"(memory) : "memory");
	victims_stack = memory;
	t_leaf();
	__asm__ volatile("" : : "r"(memory) : "memory");
}

/* All that is rewritten is its own. */
FUNCTION static void t_padded(void)
{
	char memory[1000];

	__asm__ volatile("" : : "r"(memory) : "memory");
	t_victim();
	__asm__ volatile("" : : "r"(memory) : "memory");
}

/* Rewrites the stack of a thread that never returns: by zeros, addresses of that stack, of code,
 * and of nothing. */
FUNCTION static void t_rewrites(void)
{
	unsigned long random = 1;

	while (!victims_stack)
		usleep(100);
	for (;;) {
		unsigned long *words = (unsigned long *)victims_stack;

		for (int i = 0; i < 60; i++) {
			random = random * 6364136223846793005UL + 1442695040888963407UL;
			words[i] = random >> 62 == 0 ? 0
				   : random >> 62 == 1
					   ? (unsigned long)(words + (random >> 40) % 64)
				   : random >> 62 == 2 ? (unsigned long)t_leaf + 5
						       : random;
		}
		usleep(100);
	}
}

#define THREAD(NAME, CALL)                                                                         \
	static void *NAME(void *unused)                                                            \
	{                                                                                          \
		CALL;                                                                              \
		AND_RETURN;                                                                        \
		return unused;                                                                     \
	}

THREAD(t_1, t_aligned(99))
THREAD(t_2, t_recurses(100))
THREAD(t_3, t_recurses(119))
THREAD(t_4, t_recurses(500))
THREAD(t_5, t_never())
THREAD(t_6, t_set_jumps())
THREAD(t_7, t_raises())
THREAD(t_8, t_calls_faulting())
THREAD(t_9, t_switches())
THREAD(t_10, t_calls_bare())
THREAD(t_11, t_lost((unsigned long)t_nowhere))
THREAD(t_12, t_lost((unsigned long)t_lost & -4096UL))
THREAD(t_13, t_lost(t_circle()))
THREAD(t_14, t_padded())
THREAD(t_15, t_rewrites())
THREAD(t_16, t_calls_plt())
THREAD(t_17, t_calls_made())
/* In newer C libraries a wait has two frames more. */
THREAD(t_18, t_recurses(117))

int main(int argc, char **argv)
{
	static void *(*const ways[])(void *) = {t_1,  t_2,  t_3,  t_4,	t_5,  t_6,
						t_7,  t_8,  t_9,  t_10, t_11, t_12,
						t_13, t_14, t_15, t_16, t_17, t_18};
	struct sigaction action = {.sa_handler = t_handler, .sa_flags = SA_ONSTACK};
	pthread_t thread;
	char byte;

	t_spinning = argc > 1 && !strcmp(argv[1], "spins");
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (unsigned long i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (pthread_create(&thread, NULL, ways[i], NULL))
			return 2;
	printf("ready %d\n", getpid());
	fflush(stdout);
	return read(0, &byte, 1) > 0;
}
