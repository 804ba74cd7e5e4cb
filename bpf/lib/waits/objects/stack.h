/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What a thread holds while it waits lies on its kernel stack: the file that its call works on, the
 * table of poll and select, the page fault that it is in. So it is found there, whatever became of
 * descriptors meanwhile. See objects.h.
 */
#ifndef TSTRACE_WAITS_OBJECTS_STACK_H
#define TSTRACE_WAITS_OBJECTS_STACK_H

#include "../../kernel.h"
#include "../../objects/kernel_files.h"
#include "../../objects/record.h"

/* Kernel addresses; all others are user space's, or none. */
#define IS_KERNEL_ADDRESS(word) ((s64)(word) < 0)
/* include/linux/poll.h, N_INLINE_POLL_ENTRIES */
#define MOST_POLL_ENTRIES 9
#define SMALLEST_PAGE	  4096
/* Instead of an address */
#define SEVERAL_FILES 1

const volatile u32 object_page_bits = 12;

/* Copies the part of the stack that is in use, at most SEARCHED_WORDS of it. */
static __always_inline void copy_stack(struct object_search *here)
{
	u64 bytes = here->registers - here->lowest;
	u32 words;

	here->words = 0;
	if (bytes > sizeof(here->stack))
		bytes = sizeof(here->stack);
	words = bytes / sizeof(u64);
	bytes = words * sizeof(u64);
	barrier_var(bytes);
	if (bytes <= sizeof(here->stack) &&
	    !bpf_probe_read_kernel(here->stack, bytes, (void *)(here->registers - bytes)))
		here->words = words;
}

/* Whether others than the table of descriptors use the file. */
static __always_inline bool has_users(u64 file)
{
	struct file___until_6_13 *older = (void *)file;
	struct file___since_6_13 *newer = (void *)file;

	if (bpf_core_field_exists(older->f_count))
		return BPF_CORE_READ(older, f_count.counter) > 1;
	if (bpf_core_field_exists(newer->f_ref))
		return BPF_CORE_READ(newer, f_ref.refcnt.counter) > 0;
	return true;
}

/* Of `struct poll_wqueues`. */
#define POLL_OFFSET(field) bpf_core_field_offset(struct poll_wqueues___held, field)
#define POLL_ENTRY_BYTES   bpf_core_type_size(struct poll_table_entry___held)

/*
 * Whether the table of poll or select lies where it would have this word; each of its entries
 * refers to it. Then the file is in `here->file`; more files than one: 0.
 */
__noinline int read_poll_table(u32 place, u64 address)
{
	struct object_search *here = search_at(place);
	struct poll_wqueues___held *table;
	struct poll_table_entry___held *entry;
	u64 first, other = 0, wrong = 0;
	u32 entries;

	/* What lies above the copy is nothing of the stack's. */
	if (!here || address >= here->registers)
		return 0;
	table = (void *)(address - POLL_OFFSET(polling_task));
	entry = (void *)table + POLL_OFFSET(inline_entries);
	entries = BPF_CORE_READ(table, inline_index);
	first = (u64)BPF_CORE_READ(entry, filp);
	if (entries - 1 >= MOST_POLL_ENTRIES)
		return 0;
	for (u32 i = 0; i < MOST_POLL_ENTRIES; i++) {
		if (i >= entries)
			break;
		other |= (u64)BPF_CORE_READ(entry, filp) ^ first;
		wrong |= (u64)BPF_CORE_READ(entry, wait.private) ^ (u64)table;
		entry = (void *)entry + POLL_ENTRY_BYTES;
		barrier_var(entries);
	}
	if (wrong)
		return 0;
	if (other)
		first = SEVERAL_FILES;
	/* What an earlier call has left there cannot be told from this one. */
	here->file = here->chosen ? SEVERAL_FILES : first;
	here->chosen = address;
	return 1;
}

#define FAULT_OFFSET(field) bpf_core_field_offset(struct vm_fault___held, field)

/* Whether a page fault lies where it would have its address at this place. */
__noinline int read_fault(u32 place, u64 at)
{
	struct object_search *here = search_at(place);
	struct task_struct *task;
	struct vm_fault___held *fault;
	struct vm_area_struct___held *vma;
	u64 address, start, file;

	if (!here || at >= here->registers)
		return 0;
	task = (void *)here->task;
	fault = (void *)(at - FAULT_OFFSET(address));
	vma = BPF_CORE_READ(fault, vma);
	if (!IS_KERNEL_ADDRESS(vma))
		return 0;
	address = BPF_CORE_READ(fault, address);
	start = BPF_CORE_READ(vma, vm_start);
	if (address < start || address >= BPF_CORE_READ(vma, vm_end) ||
	    BPF_CORE_READ(vma, vm_mm) != BPF_CORE_READ(task, mm))
		return 0;
	if (BPF_CORE_READ(fault, pgoff) !=
	    BPF_CORE_READ(vma, vm_pgoff) + ((address - start) >> object_page_bits))
		return 0;
	file = (u64)BPF_CORE_READ(vma, vm_file);
	/* What an earlier fault has left there cannot be told from this one. */
	here->file = here->chosen && here->chosen != file + 1 ? 0 : file;
	here->chosen = file + 1;
	return 1;
}

/* What is looked for. */
enum held_thing {
	HELD_FILE,
	HELD_POLL_TABLE,
	HELD_FAULT,
};

__noinline int see_word(u32 place, u32 at, u32 thing)
{
	struct object_search *here = search_at(place);
	u64 address;

	if (!here)
		return 0;
	address = here->registers - (u64)(here->words - at) * sizeof(u64);
	if (thing == HELD_POLL_TABLE)
		return read_poll_table(place, address);
	if (thing == HELD_FAULT)
		return read_fault(place, address);
	here->chosen = 1;
	return 0;
}

/*
 * Looks at the next WORDS_AT_ONCE of the stack, where the bits of `mask` are as in `value`. One
 * function for all, which the verifier follows once.
 */
__noinline int see_words(u32 place, u32 from, u64 value, u64 mask, u32 thing)
{
	struct object_search *here = search_at(place);

	if (!here || from > SEARCHED_WORDS - WORDS_AT_ONCE)
		return 0;
	for (u32 i = 0; i < WORDS_AT_ONCE; i++) {
		if (!((here->stack[from + i] ^ value) & mask))
			see_word(place, from + i, thing);
	}
	return 0;
}

/* Goes through the stack; what was found is in `here->chosen` then. */
__noinline int search_stack(u32 place, u64 value, u64 mask, u32 thing)
{
	struct object_search *here = search_at(place);

	if (!here)
		return 0;
	here->chosen = 0;
	copy_stack(here);
	for (u32 from = 0; from < SEARCHED_WORDS && from < here->words; from += WORDS_AT_ONCE) {
		see_words(place, from, value, mask, thing);
		/* Of the others there may be one more, and then it is not known which counts. */
		if (thing == HELD_FILE && here->chosen)
			break;
	}
	return here->chosen != 0;
}

/*
 * Whether the thread's call holds the file in `here->file`: where threads share their table of
 * descriptors, its slot may have another one by now. `is_shared`: then the call has counted itself
 * among the file's users, too.
 */
static __always_inline bool is_held(struct object_search *here, u32 place, bool is_shared)
{
	struct file___held *file = (void *)here->file;
	u64 of_file;

	if (is_shared && !has_users(here->file))
		return false;
	/* The lowest bits are flags (struct fd, 6.12). */
	if (search_stack(place, here->file, ~3ULL, HELD_FILE))
		return true;
	/* Calls of sockets (until 6.11) and of epoll may hold only what their file is for. That of
	 * a pipe is the same at both ends. */
	of_file = (u64)BPF_CORE_READ(file, private_data);
	return IS_KERNEL_ADDRESS(of_file) &&
	       (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFIFO &&
	       search_stack(place, of_file, ~0ULL, HELD_FILE);
}

/* The file that the thread polls, if it is one only; 0: there are several, or it is not known. */
static __always_inline u64 polled_file(struct object_search *here, u32 place)
{
	here->file = 0;
	search_stack(place, here->task, ~0ULL, HELD_POLL_TABLE);
	if (here->file == SEVERAL_FILES)
		here->file = 0;
	return here->file;
}

/* The file of which a page is missing; 0: none, or it is not known. */
static __always_inline u64 faulting_file(struct object_search *here, u32 place)
{
	here->file = 0;
	/* The address of a page, not of the kernel's; 0 is sorted out later. */
	search_stack(place, 0, 1ULL << 63 | (SMALLEST_PAGE - 1), HELD_FAULT);
	return here->file;
}

#endif
