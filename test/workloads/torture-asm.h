/* Functions of torture.c by hand: one that says nothing of its frame, one that faults at once, one
 * that has lost its stack. */
#ifndef TORTURE_ASM_H
#define TORTURE_ASM_H

void t_bare(void (*callee)(void));
/* Its first instruction reads what is there. */
void t_faults(const void *pointer);
/* Waits, or spins, with this stack pointer; what it says of its frame is that of any leaf (x86), or
 * of any function (arm64, where a leaf has nothing on the stack). */
__attribute__((noreturn)) void t_lost(unsigned long sp);

/* Into t_lost: as a return address it leads there again. */
#define INTO_LOST 12

#ifdef __x86_64__

__asm__(".text\n"
	".type t_bare, @function\n"
	"t_bare: sub $40, %rsp\n"
	"call *%rdi\n"
	"add $40, %rsp\n"
	"ret\n"
	".size t_bare, . - t_bare\n"
	/* Behind a function of other rows. */
	".type t_pushes, @function\n"
	"t_pushes: .cfi_startproc\n"
	".cfi_def_cfa_offset 4096\n"
	"ret\n"
	".cfi_endproc\n"
	".size t_pushes, . - t_pushes\n"
	".type t_faults, @function\n"
	"t_faults: .cfi_startproc\n"
	"mov (%rdi), %rax\n"
	"ret\n"
	".cfi_endproc\n"
	".size t_faults, . - t_faults\n"
	".type t_lost, @function\n"
	"t_lost: .cfi_startproc\n"
	"mov %rdi, %rsp\n"
	"t_lost_again: lea t_lost_nap(%rip), %rdi\n"
	"xor %esi, %esi\n"
	"mov $35, %eax\n" /* SYS_nanosleep */
	"cmpl $0, t_spinning(%rip)\n"
	"jne t_lost_again\n"
	"syscall\n"
	"jmp t_lost_again\n"
	".cfi_endproc\n"
	".size t_lost, . - t_lost\n");

#else

__asm__(".text\n"
	".type t_bare, %function\n"
	"t_bare: sub sp, sp, #48\n"
	"str x30, [sp, #40]\n"
	"blr x0\n"
	"ldr x30, [sp, #40]\n"
	"add sp, sp, #48\n"
	"ret\n"
	".size t_bare, . - t_bare\n"
	/* Behind a function of other rows. */
	".type t_pushes, %function\n"
	"t_pushes: .cfi_startproc\n"
	".cfi_def_cfa_offset 4096\n"
	"ret\n"
	".cfi_endproc\n"
	".size t_pushes, . - t_pushes\n"
	".type t_faults, %function\n"
	"t_faults: .cfi_startproc\n"
	"ldr x1, [x0]\n"
	"ret\n"
	".cfi_endproc\n"
	".size t_faults, . - t_faults\n"
	".type t_lost, %function\n"
	"t_lost: .cfi_startproc\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 29, -16\n"
	".cfi_offset 30, -8\n"
	"mov sp, x0\n"
	"t_lost_again: adrp x0, t_lost_nap\n"
	"add x0, x0, :lo12:t_lost_nap\n"
	"mov x1, #0\n"
	"mov x8, #101\n" /* SYS_nanosleep */
	"adrp x2, t_spinning\n"
	"ldr w2, [x2, :lo12:t_spinning]\n"
	"cbnz w2, t_lost_again\n"
	"svc #0\n"
	"b t_lost_again\n"
	".cfi_endproc\n"
	".size t_lost, . - t_lost\n");

#endif

__attribute__((used)) static struct timespec t_lost_nap = {0, NAP_NS};

/* A stack that leads to the same function again and again, and whose frame pointers go in a circle.
 */
static unsigned long t_circle(void)
{
	static unsigned long words[2000];

	for (int i = 0; i < 2000; i++)
		words[i] = (unsigned long)t_lost + INTO_LOST;
	return (unsigned long)words;
}

/* Nothing is mapped there. */
#define t_nowhere 0x10008UL

/* Code made at run time that has 0 where the frame pointer is, calls what it is given, and returns.
 */
static const unsigned char made_code[] = {
#ifdef __x86_64__
	0x55,	    /* push %rbp */
	0x31, 0xed, /* xor %ebp, %ebp */
	0xff, 0xd7, /* call *%rdi */
	0x5d,	    /* pop %rbp */
	0xc3,	    /* ret */
#else
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0x1d, 0x00, 0x80, 0xd2, /* mov x29, #0 */
	0x00, 0x00, 0x3f, 0xd6, /* blr x0 */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

FUNCTION static void t_calls_bare(void)
{
	t_bare(t_leaf);
	AND_RETURN;
}

#endif
