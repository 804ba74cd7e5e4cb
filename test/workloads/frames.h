/*
 * Functions that are found in stacks by their names. They call the kernel in place, as the C
 * library's own functions have no frame pointers: their callers would not be seen.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <sys/syscall.h>

#include "workload.h"

/* Has a frame of its own, also in what calls it. */
#define IN_STACKS __attribute__((noinline, used))

static inline __attribute__((always_inline)) long call_kernel6(long number, long a, long b, long c,
							       long d, long e, long f)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#endif
}

static inline __attribute__((always_inline)) long call_kernel(long number, long a, long b, long c,
							      long d)
{
	return call_kernel6(number, a, b, c, d, 0, 0);
}

static inline __attribute__((always_inline)) void sleep_here(unsigned long long time_ns)
{
	struct timespec time = {time_ns / 1000000000, time_ns % 1000000000};

	call_kernel(SYS_nanosleep, (long)&time, 0, 0, 0);
}

/* A few ns each, in the caller itself. */
static inline __attribute__((always_inline)) void burn_here(long times)
{
	for (volatile long i = 0; i < times; i++)
		;
}

/* For so long, in the caller itself but for a glance at the clock now and then. */
static inline __attribute__((always_inline)) void burn_for_here(unsigned long long time_ns)
{
	unsigned long long begin = now_ns();

	while (now_ns() - begin < time_ns)
		burn_here(10000);
}

static inline unsigned long long thread_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

#endif
