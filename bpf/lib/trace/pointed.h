/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What arguments point to, behind a call's arguments in its record, each with a header. Functions
 * of their own, which the verifier follows once; they take no pointers, so that a slot is known by
 * its number.
 */
#ifndef TSTRACE_TRACE_POINTED_H
#define TSTRACE_TRACE_POINTED_H

#include "../kernel.h"
#include "files.h"
#include "records.h"

enum capture_status {
	CAPTURED,
	CAPTURED_CUT,
	CAPTURE_UNREADABLE,
	/* Here one of several messages begins: how many bytes it has. */
	CAPTURED_BEGIN,
};

enum capture_limit {
	CAPTURES = 4,
	CAPTURED_STRINGS = 24,
	CAPTURED_VECTORS = 4,
	CAPTURED_MESSAGES = 4,
	CAPTURE_HEADER_BYTES = 4,
	/* Of what no argument of its own stands for. */
	CAPTURED_PARENT = 16,
	CAPTURED_RESULT = 17,
	CAPTURED_STACK = 18,
};

struct capture_header {
	u8 argument;
	u8 status;
	u16 bytes;
};

EXPORT_TYPE(enum capture_status, capture_status);
EXPORT_TYPE(enum capture_limit, capture_limit);
EXPORT_TYPE(struct capture_header, capture_header);

/* Room for one more, with its header in front; NULL: there is none. */
static __always_inline u8 *capture_room(struct call_slot *slot)
{
	u64 at = slot->record.bytes;

	barrier_var(at);
	return at > RECORD_LAST_AT ? NULL : &slot->data[at];
}

static __always_inline void captured(struct call_slot *slot, u8 *room, u32 argument, u32 status,
				     u32 bytes)
{
	struct capture_header *header = (void *)room;

	header->argument = argument;
	header->status = status;
	header->bytes = bytes;
	slot->record.bytes += (CAPTURE_HEADER_BYTES + bytes + 7) & ~7;
	if (status == CAPTURE_UNREADABLE)
		slot->unreadable = 1;
}

/* A string, without its zero. Returns whether it could be read. */
__noinline int capture_string(u32 key, u32 argument, u64 address, u32 most)
{
	struct call_slot *slot = slot_at(key);
	u64 room_for = most;
	long length;
	u8 *room;

	if (!slot)
		return 0;
	room = capture_room(slot);
	if (!room)
		return 0;
	barrier_var(room_for);
	if (room_for > RECORD_TEXT_BYTES)
		room_for = RECORD_TEXT_BYTES;
	/* With its zero, and one byte more, which tells whether it is longer. */
	length =
		bpf_probe_read_user_str(room + CAPTURE_HEADER_BYTES, room_for + 2, (void *)address);
	if (length < 0) {
		captured(slot, room, argument, CAPTURE_UNREADABLE, 0);
		return 0;
	}
	/* mm/maccess.c, strncpy_from_user_nofault: older kernels do not count the zero of an empty
	 * one. */
	if (length == 0)
		length = 1;
	if ((u64)length > room_for + 1)
		captured(slot, room, argument, CAPTURED_CUT, room_for);
	else
		captured(slot, room, argument, CAPTURED, length - 1);
	return 1;
}

/* So many bytes, or the first `most` of them. */
__noinline int capture_bytes(u32 key, u32 argument, u64 address, u64 length, u32 most)
{
	struct call_slot *slot = slot_at(key);
	u64 bytes = length < most ? length : most;
	u8 *room;

	if (!slot)
		return 0;
	room = capture_room(slot);
	if (!room)
		return 0;
	barrier_var(bytes);
	if (bytes > RECORD_TEXT_BYTES)
		bytes = RECORD_TEXT_BYTES;
	if (bytes && bpf_probe_read_user(room + CAPTURE_HEADER_BYTES, bytes, (void *)address)) {
		captured(slot, room, argument, CAPTURE_UNREADABLE, 0);
		return 0;
	}
	captured(slot, room, argument, bytes < length ? CAPTURED_CUT : CAPTURED, bytes);
	return 1;
}

/* What a descriptor is, as a number that user space has been told the meaning of. */
__noinline int capture_file(u32 key, u32 argument, s32 descriptor)
{
	struct call_slot *slot = slot_at(key);
	u64 id;
	u8 *room;

	if (!slot || (descriptor < 0 && descriptor != AT_FDCWD))
		return 0;
	id = file_id(slot, descriptor);
	room = id ? capture_room(slot) : NULL;
	if (!room)
		return 0;
	__builtin_memcpy(room + CAPTURE_HEADER_BYTES, &id, sizeof(id));
	captured(slot, room, argument, CAPTURED, sizeof(id));
	return 0;
}

/* argv: a header for each string, up to where there is no more room, or at most
 * CAPTURED_STRINGS. */
__noinline int capture_strings(u32 key, u32 argument, u64 address, u32 most)
{
	struct call_slot *slot = slot_at(key);
	u32 width;

	if (!slot)
		return 0;
	width = slot->record.call >> CALL_NR_BITS == CALL_COMPAT ? 4 : 8;
	for (u32 i = 0; i <= CAPTURED_STRINGS; i++) {
		u64 string = 0;

		if (bpf_probe_read_user(&string, width, (void *)(address + i * width))) {
			capture_bytes(key, argument, 1, 1, 1);
			return 0;
		}
		if (!string)
			return 1;
		if (i == CAPTURED_STRINGS || slot->record.bytes > RECORD_LAST_AT) {
			slot->record.flags |= RECORD_LIST_CUT;
			return 1;
		}
		capture_string(key, argument, string, most);
	}
	return 1;
}

struct user_vector {
	u64 base;
	u64 bytes;
};

/* struct iovec: what each points to, at most `left` bytes in all. */
__noinline int capture_vectors(u32 key, u32 argument, u64 address, u64 left, u32 most)
{
	for (u32 i = 0; i < CAPTURED_VECTORS; i++) {
		struct user_vector vector;
		u64 bytes;

		if (!left)
			break;
		if (bpf_probe_read_user(&vector, sizeof(vector),
					(void *)(address + i * sizeof(vector))))
			break;
		bytes = vector.bytes < left ? vector.bytes : left;
		capture_bytes(key, argument, vector.base, bytes, most);
		left -= bytes;
	}
	/* There are more: that is shown as what cannot be read is. */
	if (left)
		capture_bytes(key, argument, 1, 1, 1);
	return 0;
}

/* include/linux/socket.h, struct user_msghdr: as far as it is looked at */
struct user_message {
	u64 name;
	u32 name_bytes;
	u32 unused;
	u64 vectors;
};

/* At most, of an address: struct sockaddr_storage. */
#define ADDRESS_BYTES 128

/* struct msghdr: its address first, which may be empty, then its vectors. */
__noinline int capture_message(u32 key, u32 argument, u64 address, u64 left, u32 most)
{
	struct user_message message;
	u32 bytes;

	if (bpf_probe_read_user(&message, sizeof(message), (void *)address))
		return 0;
	bytes = message.name ? message.name_bytes : 0;
	capture_bytes(key, argument, message.name, bytes, ADDRESS_BYTES);
	return capture_vectors(key, argument, message.vectors, left, most);
}

/* include/linux/socket.h, struct user_mmsghdr: a struct user_msghdr, and how much of it was moved
 */
#define USER_MMSGHDR_BYTES 64
#define USER_MMSGHDR_LEN   56

/* The first of those that were sent, or came. */
__noinline int capture_messages(u32 key, u32 argument, u64 address, u64 count, u32 most)
{
	for (u32 i = 0; i < CAPTURED_MESSAGES && i < count; i++) {
		struct call_slot *slot = slot_at(key);
		u32 bytes;
		u8 *room;

		room = slot ? capture_room(slot) : NULL;
		if (!room || bpf_probe_read_user(&bytes, sizeof(bytes),
						 (void *)(address + USER_MMSGHDR_LEN)))
			return 0;
		*(u32 *)(room + CAPTURE_HEADER_BYTES) = bytes;
		captured(slot, room, argument, CAPTURED_BEGIN, sizeof(bytes));
		capture_message(key, argument, address, bytes, most);
		address += USER_MMSGHDR_BYTES;
	}
	return 0;
}

#endif
