/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Which file a thread waited for, and what that is: see objects.h. */
#ifndef TSTRACE_WAITS_OBJECTS_FILE_H
#define TSTRACE_WAITS_OBJECTS_FILE_H

#include "../../kernel.h"
#include "../../objects/describe.h"
#include "../../objects/kernel_files.h"
#include "../../objects/record.h"
#include "stack.h"

/* Puts the file of a descriptor into `here->file`, if the call that waits holds it. */
__noinline int find_held_file(u32 place, u32 descriptor)
{
	struct object_search *here = search_at(place);
	struct task_struct___held *task;
	struct files_struct___held *files;
	struct fdtable___held *table;
	struct file___held **slots;

	if (!here)
		return 0;
	task = (void *)here->task;
	files = BPF_CORE_READ(task, files);
	table = BPF_CORE_READ(files, fdt);
	slots = BPF_CORE_READ(table, fd);
	here->file = 0;
	here->object.type = OBJECT_CHANGED;
	if (descriptor >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&here->file, sizeof(here->file), &slots[descriptor]);
	return here->file && is_held(here, place, BPF_CORE_READ(files, count.counter) != 1);
}

/* The file of an epoll's only descriptor; 0: it has several. */
static __always_inline u64 only_file(struct eventpoll___held *epoll)
{
	struct rb_node___held *root = BPF_CORE_READ(epoll, rbr.rb_root.rb_node);
	struct epitem___held *item;

	if (!root || BPF_CORE_READ(root, rb_left) || BPF_CORE_READ(root, rb_right))
		return 0;
	item = (void *)root - bpf_core_field_offset(struct epitem___held, rbn);
	return BPF_CORE_READ(item, ep) == epoll ? (u64)BPF_CORE_READ(item, ffd.file) : 0;
}

/*
 * As the thread resumes, what was ready is still in the epoll's list; its own program takes it out
 * a moment later. Another thread may have been faster: the list is read without its lock, so an
 * item counts only if it says that it is of this epoll.
 */
__noinline int find_ready_file(u32 place)
{
	struct object_search *here = search_at(place);
	struct list_head___held *first, *head;
	struct eventpoll___held *epoll;
	struct epitem___held *item;
	struct file___held *file;

	if (!here)
		return 0;
	file = (void *)here->file;
	here->file = 0;
	here->object.type = OBJECT_SEVERAL;
	if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) != ANON_INODE_FS_MAGIC)
		return 0;
	epoll = BPF_CORE_READ(file, private_data);
	head = (void *)epoll + bpf_core_field_offset(struct eventpoll___held, rdllist);
	first = BPF_CORE_READ(head, next);
	if (!first || first == head) {
		here->file = only_file(epoll);
		return here->file != 0;
	}
	item = (void *)first - bpf_core_field_offset(struct epitem___held, rdllink);
	if (BPF_CORE_READ(item, ep) == epoll)
		here->file = (u64)BPF_CORE_READ(item, ffd.file);
	return here->file != 0;
}

#endif
