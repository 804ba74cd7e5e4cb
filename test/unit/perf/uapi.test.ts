/** What clang lays out for BPF is what it lays out for this machine. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
	bpf_prog_info,
	bpf_uprobe_opts,
	perf_callchain_context,
	perf_event_header,
	perf_event_mmap_page,
	perf_event_type,
	uapi,
} from '../../../src/generated/uapi.js';

/** Prints the values of C expressions, one for each name, with the headers of this machine. */
function inC(expressions: Record<string, string>): Record<string, number> {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-uapi-'));
	try {
		const names = Object.keys(expressions);
		const prints = names.map((name) => `printf("%lld\\n", (long long)(${expressions[name]}));`);
		const program = `
			#include <bpf/libbpf.h>
			#include <linux/bpf.h>
			#include <linux/perf_event.h>
			#include <stddef.h>
			#include <stdio.h>
			int main(void) { ${prints.join('\n')} }`;
		const out = join(folder, 'uapi');
		execFileSync('scripts/clang.sh', ['-x', 'c', '-', '-o', out], { input: program });
		const values = execFileSync(out, { encoding: 'utf8' }).trim().split('\n').map(Number);
		return Object.fromEntries(names.map((name, i) => [name, values[i] as number]));
	} finally {
		rmSync(folder, { recursive: true });
	}
}

test('structs that others declare: every field, and the size that the last one leaves', () => {
	const structs = { bpf_prog_info, perf_event_mmap_page, perf_event_header, bpf_uprobe_opts };
	// All in one program: to compile one takes half a second.
	const offsetsIn: Record<string, string> = {};
	const expected: Record<string, number> = {};
	for (const [struct, { fields, size }] of Object.entries(structs)) {
		const names = Object.entries(fields).filter(([, field]) => !('bit' in field));
		assert.ok(names.length > 1, struct);
		for (const [name, { offset }] of names) {
			offsetsIn[`${struct}.${name}`] = `offsetof(struct ${struct}, ${name})`;
			expected[`${struct}.${name}`] = offset;
			assert.ok(size >= offset, struct);
		}
	}
	assert.deepEqual(inC(offsetsIn), expected);
});

test('numbers: those of the headers', () => {
	const { FORMAT_LOST, UPROBE_MULTI_RETURN, ...named } = uapi;
	const macros = {
		FLAG_CLOEXEC: 'PERF_FLAG_FD_CLOEXEC',
		FLAG_PID_CGROUP: 'PERF_FLAG_PID_CGROUP',
		FORMAT_TIME_ENABLED: 'PERF_FORMAT_TOTAL_TIME_ENABLED',
		FORMAT_TIME_RUNNING: 'PERF_FORMAT_TOTAL_TIME_RUNNING',
		MISC_COMM_EXEC: 'PERF_RECORD_MISC_COMM_EXEC',
		MISC_MMAP_BUILD_ID: 'PERF_RECORD_MISC_MMAP_BUILD_ID',
		IOC_ENABLE: 'PERF_EVENT_IOC_ENABLE',
		IOC_SET_OUTPUT: 'PERF_EVENT_IOC_SET_OUTPUT',
		IOC_SET_BPF: 'PERF_EVENT_IOC_SET_BPF',
		CMD_LINK_CREATE: 'BPF_LINK_CREATE',
		CMD_MAP_CREATE: 'BPF_MAP_CREATE',
		MAP_TYPE_ARRAY: 'BPF_MAP_TYPE_ARRAY',
		MAP_MMAPABLE: 'BPF_F_MMAPABLE',
		STATS_RUN_TIME: 'BPF_STATS_RUN_TIME',
		RINGBUF_BUSY: 'BPF_RINGBUF_BUSY_BIT',
		RINGBUF_DISCARD: 'BPF_RINGBUF_DISCARD_BIT',
		RINGBUF_HEADER_BYTES: 'BPF_RINGBUF_HDR_SZ',
	} satisfies Record<keyof typeof named, string>;
	const enums = { ...perf_callchain_context, ...perf_event_type };
	const same = Object.fromEntries(Object.keys(enums).map((name) => [name, name]));
	assert.deepEqual(inC({ ...macros, ...same }), { ...named, ...enums });
});
