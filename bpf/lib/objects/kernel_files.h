/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The kernel's types for what descriptors stand for; see kernel.h. To be read with
 * bpf_core_read. All have a flavour, as other files have types of the same names. */
#ifndef TSTRACE_OBJECTS_KERNEL_FILES_H
#define TSTRACE_OBJECTS_KERNEL_FILES_H

#include "../kernel.h"

/* include/uapi/linux/fcntl.h: the current folder, instead of a descriptor */
#define AT_FDCWD -100
/* include/uapi/linux/stat.h */
#define S_IFMT	 0170000
#define S_IFSOCK 0140000
#define S_IFBLK	 0060000
#define S_IFCHR	 0020000
#define S_IFIFO	 0010000
/* include/uapi/linux/magic.h */
#define ANON_INODE_FS_MAGIC 0x09041934
/* include/linux/fs.h */
#define FMODE_READ  1
#define FMODE_WRITE 2
#define AF_UNIX	    1
#define AF_INET	    2
#define AF_INET6    10
#define TCP_LISTEN  10
#define EXIT_ZOMBIE 0x20
#define P_PID	    1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head___held {
	struct list_head___held *next;
};

struct qstr___held {
	const unsigned char *name;
};

struct hlist_bl_node___held {
	struct hlist_bl_node___held **pprev;
};

struct inode___held;

struct dentry___held {
	struct hlist_bl_node___held d_hash;
	struct dentry___held *d_parent;
	struct qstr___held d_name;
};

struct super_block___held {
	unsigned int s_dev;
	unsigned long s_magic;
};

struct inode___held {
	unsigned short i_mode;
	unsigned int i_rdev;
	unsigned int i_nlink;
	struct super_block___held *i_sb;
	unsigned long i_ino;
};

struct vfsmount___held {
	struct dentry___held *mnt_root;
};

struct mount___held {
	struct mount___held *mnt_parent;
	struct dentry___held *mnt_mountpoint;
	struct vfsmount___held mnt;
};

struct path___held {
	struct vfsmount___held *mnt;
	struct dentry___held *dentry;
};

struct file___held {
	struct inode___held *f_inode;
	struct path___held f_path;
	unsigned int f_mode;
	void *private_data;
};

struct atomic_long___held {
	s64 counter;
};

/* Users of a file; since 6.13 (90ee6ed776c0) one less than there are. */
struct file___until_6_13 {
	struct atomic_long___held f_count;
};

struct file_ref___held {
	struct atomic_long___held refcnt;
};

struct file___since_6_13 {
	struct file_ref___held f_ref;
};

struct fs_struct___held {
	struct path___held root;
};

struct fdtable___held {
	unsigned int max_fds;
	struct file___held **fd;
};

struct files_struct___held {
	struct atomic count;
	struct fdtable___held *fdt;
};

struct in6_addr___held {
	u8 bytes[16];
};

struct net___held {
	struct ns_common ns;
};

struct possible_net___held {
	struct net___held *net;
};

struct sock_common___held {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr___held skc_v6_daddr;
	struct in6_addr___held skc_v6_rcv_saddr;
	struct possible_net___held skc_net;
};

struct socket___held;

struct sock___held {
	struct sock_common___held __sk_common;
	u16 sk_protocol;
	struct socket___held *sk_socket;
};

struct socket___held {
	struct sock___held *sk;
};

struct socket_alloc___held {
	struct socket___held socket;
	struct inode___held vfs_inode;
};

struct sockaddr_un___held {
	unsigned short sun_family;
};

struct unix_address___held {
	int len; /* of the struct sockaddr_un behind it */
	struct sockaddr_un___held name[1];
};

struct unix_sock___held {
	struct unix_address___held *addr;
	struct sock___held *peer;
};

struct epoll_filefd___held {
	struct file___held *file;
};

struct rb_node___held {
	struct rb_node___held *rb_right;
	struct rb_node___held *rb_left;
};

struct rb_root___held {
	struct rb_node___held *rb_node;
};

struct rb_root_cached___held {
	struct rb_root___held rb_root;
};

struct eventpoll___held {
	struct list_head___held rdllist;
	struct rb_root_cached___held rbr;
};

struct epitem___held {
	struct rb_node___held rbn;
	struct list_head___held rdllink;
	struct epoll_filefd___held ffd;
	struct eventpoll___held *ep;
};

struct wait_queue_entry___held {
	void *private;
};

struct poll_table_entry___held {
	struct file___held *filp;
	struct wait_queue_entry___held wait;
};

/* Of poll and select, on the kernel stack of the thread. */
struct poll_wqueues___held {
	struct task_struct___held *polling_task;
	int inline_index;
	struct poll_table_entry___held inline_entries[1];
};

/* Of a page fault, on the kernel stack of the thread. */
struct vm_fault___held {
	struct vm_area_struct___held *vma;
	unsigned long pgoff;
	unsigned long address;
};

struct vm_area_struct___held {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct mm_struct *vm_mm;
	struct file___held *vm_file;
};

#ifdef __TARGET_ARCH_arm64
struct cpu_context___held {
	unsigned long sp;
};

struct thread_struct___held {
	struct cpu_context___held cpu_context;
};
#else
struct thread_struct___held {
	unsigned long sp;
};
#endif

struct mm_struct___held {
	unsigned long start_brk;
	unsigned long brk;
};

struct task_struct___held {
	struct mm_struct___held *mm;
	struct fs_struct___held *fs;
	struct files_struct___held *files;
	struct list_head___held children;
	struct list_head___held sibling;
	struct thread_struct___held thread;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	unsigned int fd;
	struct file___held *file;
};

struct pt_regs___held {
#ifdef __TARGET_ARCH_arm64
	u64 regs[31];
	u64 sp;
	u64 orig_x0;
	s32 syscallno;
#else
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long sp;
#endif
};

#pragma clang attribute pop

/* The file of a descriptor of a task; 0: it has none. */
static __always_inline u64 file_of_descriptor(struct task_struct *task, s32 descriptor)
{
	struct task_struct___held *holder = (void *)task;
	struct file___held **slots;
	u64 file = 0;

	if ((u32)descriptor >= BPF_CORE_READ(holder, files, fdt, max_fds))
		return 0;
	slots = BPF_CORE_READ(holder, files, fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), &slots[descriptor]);
	return file;
}

#endif
