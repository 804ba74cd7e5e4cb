import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { perf_event_attr } from '../../../src/generated/uapi.js';
import {
	encodeAttributes,
	type Flag,
	type PerfEventAttributes,
	SAMPLE_ID_TYPE,
	SAMPLE_TYPE,
} from '../../../src/perf/attributes.js';

/**
 * What the C compiler makes of assignments to a struct perf_event_attr, with the kernel's header. Several are one
 * program: to compile one takes half a second.
 */
function inC(...assignments: string[]): string[] {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-attr-'));
	const prints = assignments.map(
		(each) => `
				memset(&u, 0, sizeof(u));
				u.attr.size = 128;
				u.attr.use_clockid = 1;
				u.attr.clockid = 1;
				${each}
				for (int i = 0; i < 128; i++)
					printf("%02x", u.bytes[i]);
				printf("\\n");`,
	);
	try {
		const program = `
			#include <linux/perf_event.h>
			#include <stdio.h>
			#include <string.h>
			union { struct perf_event_attr attr; unsigned char bytes[128]; } u;
			int main(void)
			{
				${prints.join('')}
			}`;
		const out = join(folder, 'attr');
		execFileSync('scripts/clang.sh', ['-x', 'c', '-', '-o', out], { input: program });
		return execFileSync(out, { encoding: 'utf8' }).trim().split('\n');
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function inTypeScript(attributes: PerfEventAttributes): string {
	return Buffer.from(encodeAttributes(attributes)).toString('hex');
}

test('every field lies where the kernel has it', () => {
	const more = { config1: 0x1111_2222_3333_4444n, config2: 0x5555_6666_7777_8888n };
	const fields = {
		...more,
		type: 4,
		config: 0x1234_5678_9abc_def0n,
		sampleType: SAMPLE_TYPE,
		maxStack: 99,
	};
	assert.deepEqual(
		[inTypeScript({ ...fields, countLost: true, frequency_hz: 997, watermark_bytes: 65536 })],
		inC(`
			u.attr.type = PERF_TYPE_RAW;
			u.attr.config = 0x123456789abcdef0;
			u.attr.config1 = 0x1111222233334444;
			u.attr.config2 = 0x5555666677778888;
			u.attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
			u.attr.sample_max_stack = 99;
			u.attr.read_format = 1 << 4; // PERF_FORMAT_LOST, since 6.0
			u.attr.freq = 1;
			u.attr.sample_freq = 997;
			u.attr.watermark = 1;
			u.attr.wakeup_watermark = 65536;`),
	);
});

test('a period, which may be long; nothing else is set', () => {
	const sampled = { type: 1, config: 0n, sampleType: SAMPLE_ID_TYPE, period: 2 ** 52 };
	assert.deepEqual(
		[inTypeScript(sampled)],
		inC(`
			u.attr.type = PERF_TYPE_SOFTWARE;
			u.attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU;
			u.attr.sample_period = 1ULL << 52;`),
	);
});

test('every flag is the bit that the kernel takes it for', () => {
	const fields = Object.entries(perf_event_attr.fields);
	const flags = fields.filter(([, field]) => 'bit' in field).map(([name]) => name as Flag);
	// Some alone, too, which a sum of all cannot tell.
	const alone: Flag[][] = [['mmap'], ['mmap_data'], ['exclude_kernel'], ['inherit']];
	const all = [flags, ...alone];
	assert.deepEqual(
		all.map((each) => inTypeScript({ type: 1, config: 9n, flags: each })),
		inC(
			...all.map((each) => {
				const set = each.map((flag) => `u.attr.${flag} = 1;`).join('\n');
				return `u.attr.type = 1; u.attr.config = PERF_COUNT_SW_DUMMY; ${set}`;
			}),
		),
	);
});

test('what counts says for how long it did', () => {
	assert.deepEqual(
		[inTypeScript({ type: 1, config: 2n, readTimes: true, flags: ['disabled', 'inherit'] })],
		inC(`
			u.attr.type = PERF_TYPE_SOFTWARE;
			u.attr.config = PERF_COUNT_SW_PAGE_FAULTS;
			u.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
			u.attr.disabled = 1;
			u.attr.inherit = 1;`),
	);
});
