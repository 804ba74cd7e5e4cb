/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The path of a file that a thread waited for: see objects.h. */
#ifndef TSTRACE_OBJECTS_PATH_H
#define TSTRACE_OBJECTS_PATH_H

#include "../kernel.h"
#include "kernel_files.h"
#include "record.h"

enum path_step {
	PATH_ENDS,
	PATH_GOES_ON,
};

/* Whether that is the root of the thread that waits: what lies above, it cannot see. */
static __always_inline bool is_root(struct object_search *here, u64 dentry, u64 mount)
{
	struct task_struct___held *task = (void *)here->task;
	struct fs_struct___held *fs = BPF_CORE_READ(task, fs);

	return dentry == (u64)BPF_CORE_READ(fs, root.dentry) &&
	       mount == (u64)BPF_CORE_READ(fs, root.mnt);
}

/* Copies one name, or goes over to where its file system is mounted; as fs/d_path.c does. A
 * function of its own: the verifier follows it once. */
__noinline int copy_name(u32 place)
{
	struct object_search *here = search_at(place);
	struct dentry___held *dentry, *parent;
	struct mount___held *mount, *above;
	long bytes;
	u32 at;

	if (!here)
		return PATH_ENDS;
	at = here->at;
	dentry = (void *)here->dentry;
	mount = (void *)here->mount;
	if (at >= PATH_BYTES) {
		here->object.flags |= OBJECT_CUT;
		return PATH_ENDS;
	}
	if (is_root(here, (u64)dentry, (u64)&mount->mnt))
		return PATH_ENDS;
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		above = BPF_CORE_READ(mount, mnt_parent);
		if (above == mount || !above)
			return PATH_ENDS;
		here->dentry = (u64)BPF_CORE_READ(mount, mnt_mountpoint);
		here->mount = (u64)above;
		return PATH_GOES_ON;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	bytes = bpf_probe_read_kernel_str(&here->object.text[at], NAME_BYTES,
					  BPF_CORE_READ(dentry, d_name.name));
	if (bytes <= 0 || bytes > NAME_BYTES)
		return PATH_ENDS;
	here->at = at + bytes;
	if (parent == dentry) {
		here->object.flags |= OBJECT_WITHOUT_ROOT;
		return PATH_ENDS;
	}
	here->dentry = (u64)parent;
	return PATH_GOES_ON;
}

#define PATH_NAMES_AT_ONCE 8

/* As copy_name(). The verifier goes through each turn of a loop: of two that are one in the other,
 * through fewer. */
__noinline int copy_names(u32 place)
{
	int step = PATH_GOES_ON;

	for (u32 i = 0; i < PATH_NAMES_AT_ONCE && step == PATH_GOES_ON; i++)
		step = copy_name(place);
	return step;
}

/* Copies the names from a file up to the root that the thread sees. */
static __always_inline void copy_path(struct object_search *here, u32 place)
{
	struct vfsmount___held *vfsmount = (void *)here->object.mount;
	int step = PATH_GOES_ON;

	here->at = 0;
	here->dentry = here->object.dentry;
	here->mount = (u64)vfsmount - bpf_core_field_offset(struct mount___held, mnt);
	for (u32 i = 0; i < PATH_NAMES / PATH_NAMES_AT_ONCE && step == PATH_GOES_ON; i++)
		step = copy_names(place);
	if (step == PATH_GOES_ON)
		here->object.flags |= OBJECT_CUT;
	here->object.text_bytes = here->at;
}

#endif
