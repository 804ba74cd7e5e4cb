/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What an open file is. */
#ifndef TSTRACE_OBJECTS_DESCRIBE_H
#define TSTRACE_OBJECTS_DESCRIBE_H

#include "../kernel.h"
#include "kernel_files.h"
#include "record.h"
#include "socket.h"

/* What `here->file` is: all but its path, which only an object gets that was not met before. A
 * function of its own, which the verifier follows once. */
__noinline int describe_file(u32 place)
{
	struct object_search *here = search_at(place);
	struct wait_object *object;
	struct file___held *file;
	struct inode___held *inode;
	u16 format;

	if (!here)
		return 0;
	object = &here->object;
	file = (void *)here->file;
	inode = BPF_CORE_READ(file, f_inode);
	format = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	object->inode = BPF_CORE_READ(inode, i_ino);
	object->device = BPF_CORE_READ(inode, i_sb, s_dev);
	if (format == S_IFSOCK)
		return describe_socket(place);
	if (BPF_CORE_READ(inode, i_sb, s_magic) == ANON_INODE_FS_MAGIC)
		object->type = OBJECT_EVENT;
	else if (format == S_IFIFO)
		object->type = OBJECT_PIPE;
	else if (format == S_IFBLK)
		object->type = OBJECT_BLOCK;
	else if (format == S_IFCHR)
		object->type = OBJECT_CHARACTER;
	else
		object->type = OBJECT_FILE;
	if (object->type == OBJECT_PIPE && BPF_CORE_READ(file, f_mode) & FMODE_WRITE)
		object->flags |= OBJECT_WRITES;
	object->dentry = (u64)BPF_CORE_READ(file, f_path.dentry);
	object->mount = (u64)BPF_CORE_READ(file, f_path.mnt);
	/* All of that kind have one inode. */
	if (object->type == OBJECT_EVENT)
		object->inode = 0;
	return 0;
}

#endif
