/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which processes hold the other end of pipes and sockets that threads waited for. Each end has a
 * key; those that are wanted are in a map, and an iterator over all descriptors of the machine says
 * who has one of them. It takes 1 us for a pipe or socket, sees all namespaces, and is run by user
 * space when there are new ones, so that a process is found that ends soon after.
 */
#ifndef TSTRACE_WAITS_OBJECTS_ENDS_H
#define TSTRACE_WAITS_OBJECTS_ENDS_H

#include "../../kernel.h"
#include "../../pidns.h"
#include "../../stacks/stacks.h"
#include "file.h"
#include "../../objects/kernel_files.h"
#include "../../objects/record.h"

#define LOOPBACK_BYTE 127

/* User space makes room where objects are wanted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u8);
} wanted_ends SEC(".maps");

/* Changes when there are new ones. CPUs may overwrite each other's number: it changes all the same.
 */
u64 ends_wanted;

/* Whether a process is there at the other end, or only may be. */
enum end_side {
	END_OWN,
	END_OTHER,
	END_LISTENER,	 /* of the other end: nobody has accepted the connection yet */
	END_AS_LISTENER, /* its own end, as the connections that it accepts have it */
};

struct end_holder {
	u64 key;
	u32 tgid; /* in the caller's PID namespace */
	u32 mode; /* enum end_mode */
	char comm[TASK_COMM_LEN];
};

enum end_mode {
	END_READS = 1,
	END_WRITES = 2,
};

EXPORT_TYPE(struct end_holder, end_holder);
EXPORT_TYPE(enum end_mode, end_mode);

static __always_inline bool is_loopback(struct wait_object *object)
{
	const u32 *words = (const u32 *)object->remote;

	if (object->family == AF_INET)
		return object->remote[0] == LOOPBACK_BYTE;
	return !words[0] && !words[1] && !words[2] && words[3] == __builtin_bswap32(1);
}

static __always_inline bool is_to_itself(struct wait_object *object)
{
	const u64 *local = (const u64 *)object->local, *remote = (const u64 *)object->remote;

	return local[0] == remote[0] && local[1] == remote[1];
}

/* The key of an end of what is in this CPU's place; in `here->chosen`, 0: it has none. A function
 * of its own, which the verifier follows once. */
__noinline int make_end_key(u32 place, u32 side)
{
	struct object_search *here = search_at(place);
	struct wait_object *object;
	bool swapped = side == END_OTHER || side == END_LISTENER;
	const u64 *local, *remote;
	u64 hash = stack_seed;

	if (!here)
		return 0;
	object = &here->object;
	here->chosen = 0;
	hash = hashed(hash, object->type);
	if (object->type == OBJECT_PIPE) {
		hash = hashed(hash, object->inode);
		here->chosen = hashed(hash, object->device);
		return 0;
	}
	if (object->type == OBJECT_UNIX) {
		u64 inode = swapped ? object->peer_inode : object->inode;

		if (inode && side <= END_OTHER)
			here->chosen = hashed(hash, inode);
		return 0;
	}
	if (object->type != OBJECT_INET)
		return 0;
	local = (const u64 *)(swapped ? object->remote : object->local);
	remote = (const u64 *)(swapped ? object->local : object->remote);
	hash = hashed(hash, object->protocol);
	if (side >= END_LISTENER) {
		/* Whatever its address is: only of connections within a network namespace. */
		hash = hashed(hash, object->network);
		here->chosen = hashed(hash, swapped ? object->remote_port : object->local_port);
		return 0;
	}
	/* 127.0.0.1 is another machine in each network namespace. */
	hash = hashed(hash, is_loopback(object) ? object->network : 0);
	hash = hashed(hash, local[0]);
	hash = hashed(hash, local[1]);
	hash = hashed(hash, remote[0]);
	hash = hashed(hash, remote[1]);
	here->chosen = hashed(hash, swapped ? (u64)object->remote_port << 16 | object->local_port
					    : (u64)object->local_port << 16 | object->remote_port);
	return 0;
}

static __always_inline u64 wanted_end(struct object_search *here, u32 place, u32 side)
{
	u8 yes = 1;
	u64 key;

	make_end_key(place, side);
	key = here->chosen;
	if (!key)
		return 0;
	bpf_map_update_elem(&wanted_ends, &key, &yes, BPF_ANY);
	ends_wanted++;
	return key;
}

/* Has those looked for that hold the other end of an object that is new. */
static __always_inline void want_ends(struct object_search *here, u32 place)
{
	struct wait_object *object = &here->object;

	here->object.other_end = 0;
	here->object.listener = 0;
	here->object.own_listener = 0;
	if (object->type == OBJECT_INET && !object->remote_port)
		return;
	object->other_end = wanted_end(here, place, END_OTHER);
	if (object->type == OBJECT_INET && (is_loopback(object) || is_to_itself(object)))
		object->listener = wanted_end(here, place, END_LISTENER);
	if (object->type == OBJECT_INET)
		object->own_listener = wanted_end(here, place, END_AS_LISTENER);
}

/* The key of what a process's descriptor is an end of, if that is wanted; 0: no. */
static __always_inline u64 wanted_key_of(struct object_search *here, struct file___held *file,
					 u32 side)
{
	u64 key;

	make_end_key(PLACE_HOLDERS, side);
	key = here->chosen;
	return key && bpf_map_lookup_elem(&wanted_ends, &key) ? key : 0;
}

/* Says which process has a descriptor, if it is an end that somebody waited for. */
static __always_inline void report_holder(struct bpf_iter__task_file *ctx)
{
	struct object_search *here = search_at(PLACE_HOLDERS);
	struct task_struct *task = ctx->task, *leader;
	struct file___held *file = ctx->file;
	struct task_struct___held *own, *first;
	struct end_holder holder = {};
	u16 format;

	if (!here || !task || !file)
		return;
	format = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
	if (format != S_IFIFO && format != S_IFSOCK)
		return;
	leader = BPF_CORE_READ(task, group_leader);
	own = (void *)task;
	first = (void *)leader;
	/* Before 5.11 each thread comes by, with the descriptors that all of them share. */
	if (task != leader && BPF_CORE_READ(own, files) == BPF_CORE_READ(first, files))
		return;
	__builtin_memset(&here->object, 0, OBJECT_KEY_BYTES);
	here->file = (u64)file;
	describe_file(PLACE_HOLDERS);
	holder.key = wanted_key_of(here, file, END_OWN);
	if (!holder.key && here->object.type == OBJECT_INET && !here->object.remote_port)
		holder.key = wanted_key_of(here, file, END_AS_LISTENER);
	if (!holder.key)
		return;
	holder.tgid = task_tgid(task);
	holder.mode = BPF_CORE_READ(file, f_mode) & (FMODE_READ | FMODE_WRITE);
	bpf_core_read(&holder.comm, sizeof(holder.comm), &leader->comm);
	if (holder.tgid)
		bpf_seq_write(ctx->meta->seq, &holder, sizeof(holder));
}

#endif
