/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What a socket is that a thread waited for: see objects.h. */
#ifndef TSTRACE_OBJECTS_SOCKET_H
#define TSTRACE_OBJECTS_SOCKET_H

#include "../kernel.h"
#include "kernel_files.h"
#include "record.h"

static __always_inline u64 inode_of_socket(struct socket___held *socket)
{
	struct inode___held *inode;

	/* Nobody has accepted it yet. */
	if (!socket)
		return 0;
	inode = (void *)socket + bpf_core_field_offset(struct socket_alloc___held, vfs_inode) -
		bpf_core_field_offset(struct socket_alloc___held, socket);
	return BPF_CORE_READ(inode, i_ino);
}

static __always_inline void describe_unix(struct object_search *here, struct sock___held *sk)
{
	struct wait_object *object = &here->object;
	struct unix_sock___held *unix_sk = (void *)sk, *unix_peer;
	struct sock___held *peer = BPF_CORE_READ(unix_sk, peer);
	struct unix_address___held *address = BPF_CORE_READ(unix_sk, addr);
	void *name;
	u32 bytes;

	object->type = OBJECT_UNIX;
	unix_peer = (void *)peer;
	if (peer)
		object->peer_inode = inode_of_socket(BPF_CORE_READ(peer, sk_socket));
	/* A listening socket has an address, and sockets that it accepted share it. Most clients
	 * have none. */
	if (address)
		object->flags |= OBJECT_ACCEPTED;
	if (!address && peer)
		address = BPF_CORE_READ(unix_peer, addr);
	if (!address)
		return;
	bytes = BPF_CORE_READ(address, len) - sizeof(u16);
	barrier_var(bytes);
	if (bytes > UNIX_PATH_BYTES)
		return;
	name = (void *)address + bpf_core_field_offset(struct unix_address___held, name);
	if (!bpf_probe_read_kernel(object->text, bytes, name + sizeof(u16)))
		object->text_bytes = bytes;
}

/* An IPv4 address that an IPv6 socket has: ::ffff:127.0.0.1. */
static __always_inline bool is_mapped_ipv4(const u8 *address)
{
	const u32 *words = (const u32 *)address;

	return !words[0] && !words[1] && words[2] == __builtin_bswap32(0xffff);
}

static __always_inline void describe_inet(struct wait_object *object, struct sock___held *sk,
					  u16 family)
{
	u32 *local = (u32 *)object->local, *remote = (u32 *)object->remote;

	object->type = OBJECT_INET;
	object->protocol = BPF_CORE_READ(sk, sk_protocol);
	object->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	object->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	object->network = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN)
		object->flags |= OBJECT_LISTENS;
	if (family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		bpf_core_read(local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(remote, 16, &sk->__sk_common.skc_v6_daddr);
		if (!is_mapped_ipv4(object->remote))
			return;
		object->family = AF_INET;
		local[1] = local[2] = local[3] = 0;
		remote[1] = remote[2] = remote[3] = 0;
	}
	bpf_core_read(local, 4, &sk->__sk_common.skc_rcv_saddr);
	bpf_core_read(remote, 4, &sk->__sk_common.skc_daddr);
}

/* The socket of `here->file`. A function of its own, which the verifier follows once. */
__noinline int describe_socket(u32 place)
{
	struct object_search *here = search_at(place);
	struct file___held *file;
	struct socket___held *socket;
	struct sock___held *sk;
	u16 family;

	if (!here)
		return 0;
	file = (void *)here->file;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	here->object.type = OBJECT_SOCKET;
	here->object.family = family;
	if (family == AF_UNIX && bpf_core_type_exists(struct unix_sock___held))
		describe_unix(here, sk);
	else if (family == AF_INET || family == AF_INET6)
		describe_inet(&here->object, sk, family);
	return 0;
}

#endif
