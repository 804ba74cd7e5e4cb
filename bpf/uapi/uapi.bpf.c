/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What TypeScript reads and writes of the kernel's interface to user space. There is no program
 * here: the build takes layouts and numbers from this object's BTF (scripts/layouts.ts).
 */
#include "../lib/kernel.h"

#include <linux/perf_event.h>
#include <stddef.h>

EXPORT_TYPE(struct bpf_prog_info, bpf_prog_info);
EXPORT_TYPE(struct perf_event_attr, perf_event_attr);
EXPORT_TYPE(struct perf_event_mmap_page, perf_event_mmap_page);
EXPORT_TYPE(struct perf_event_header, perf_event_header);
EXPORT_TYPE(enum perf_type_id, perf_type_id);
EXPORT_TYPE(enum perf_sw_ids, perf_sw_ids);
EXPORT_TYPE(enum perf_event_type, perf_event_type);
EXPORT_TYPE(enum perf_event_sample_format, perf_event_sample_format);
EXPORT_TYPE(enum perf_callchain_context, perf_callchain_context);

/* Macros, and members of enums that have no name. */
enum uapi {
	FLAG_CLOEXEC = PERF_FLAG_FD_CLOEXEC,
	FLAG_PID_CGROUP = PERF_FLAG_PID_CGROUP,
	MISC_COMM_EXEC = PERF_RECORD_MISC_COMM_EXEC,
	MISC_MMAP_BUILD_ID = PERF_RECORD_MISC_MMAP_BUILD_ID,
	FORMAT_TIME_ENABLED = PERF_FORMAT_TOTAL_TIME_ENABLED,
	FORMAT_TIME_RUNNING = PERF_FORMAT_TOTAL_TIME_RUNNING,
	FORMAT_LOST = 1 << 4, /* PERF_FORMAT_LOST, since 6.0 */
	IOC_ENABLE = PERF_EVENT_IOC_ENABLE,
	IOC_SET_OUTPUT = PERF_EVENT_IOC_SET_OUTPUT,
	IOC_SET_BPF = PERF_EVENT_IOC_SET_BPF,
	CMD_LINK_CREATE = BPF_LINK_CREATE,
	CMD_MAP_CREATE = BPF_MAP_CREATE,
	MAP_TYPE_ARRAY = BPF_MAP_TYPE_ARRAY,
	MAP_MMAPABLE = BPF_F_MMAPABLE,
	STATS_RUN_TIME = BPF_STATS_RUN_TIME,
	RINGBUF_BUSY = BPF_RINGBUF_BUSY_BIT,
	RINGBUF_DISCARD = BPF_RINGBUF_DISCARD_BIT,
	RINGBUF_HEADER_BYTES = BPF_RINGBUF_HDR_SZ,
	UPROBE_MULTI_RETURN = 1 << 0, /* BPF_F_UPROBE_MULTI_RETURN, since 6.6 */
};
EXPORT_TYPE(enum uapi, uapi);

/* Records of perf events. perf_event.h has their layouts as comments only, by enum perf_event_type.
 */

/* The end of each record that is no sample: what attributes.ts asks for, with sample_id_all. */
struct sample_id {
	u32 pid, tid;
	u64 time;
	u64 id;
	u32 cpu, res;
};
EXPORT_TYPE(struct sample_id, sample_id);

/* What attributes.ts asks for. */
struct record_sample {
	struct perf_event_header header;
	u64 ip;
	u32 pid, tid;
	u64 time;
	u64 id;
	u32 cpu, res;
	u64 period;
	u64 nr;
	u64 ips[];
};
EXPORT_TYPE(struct record_sample, record_sample);

struct record_mmap2 {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
	char filename[];
};
EXPORT_TYPE(struct record_mmap2, record_mmap2);

struct record_comm {
	struct perf_event_header header;
	u32 pid, tid;
	char comm[];
};
EXPORT_TYPE(struct record_comm, record_comm);

/* PERF_RECORD_FORK and PERF_RECORD_EXIT */
struct record_task {
	struct perf_event_header header;
	u32 pid, ppid;
	u32 tid, ptid;
	u64 time;
};
EXPORT_TYPE(struct record_task, record_task);

struct record_throttle {
	struct perf_event_header header;
	u64 time, id, stream_id;
};
EXPORT_TYPE(struct record_throttle, record_throttle);

struct record_lost {
	struct perf_event_header header;
	u64 id, lost;
};
EXPORT_TYPE(struct record_lost, record_lost);

struct record_lost_samples {
	struct perf_event_header header;
	u64 lost;
};
EXPORT_TYPE(struct record_lost_samples, record_lost_samples);

/* union bpf_attr for BPF_MAP_CREATE: as much of it as we use. */
struct map_create {
	u32 map_type, key_size, value_size, max_entries, map_flags;
};
EXPORT_TYPE(struct map_create, map_create);

/* union bpf_attr for BPF_LINK_CREATE of many probes, since 6.6: newer than the headers of a build
 * may be. */
struct link_create_uprobe_multi {
	u32 prog_fd, target_fd;
	u32 attach_type;
	u32 flags;
	u64 path, offsets, ref_ctr_offsets, cookies;
	u32 cnt;
	u32 multi_flags;
	u32 pid;
};
EXPORT_TYPE(struct link_create_uprobe_multi, link_create_uprobe_multi);

_Static_assert(offsetof(struct link_create_uprobe_multi, attach_type) ==
		       offsetof(union bpf_attr, link_create.attach_type),
	       "what all links begin with");

/* libbpf.h of 1.0; the header itself is for the host only. */
struct bpf_uprobe_opts {
	u64 sz;
	u64 ref_ctr_offset;
	u64 bpf_cookie;
	bool retprobe;
	const char *func_name;
};
EXPORT_TYPE(struct bpf_uprobe_opts, bpf_uprobe_opts);
