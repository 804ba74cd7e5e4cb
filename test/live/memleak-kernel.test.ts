/** memleak of the kernel's own memory: of each of its allocators what is known to stay, and to be freed. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { possibleCpus } from '../../src/loader/map.js';
import type { LeakReport } from './leaks.js';
import { withFrame } from './stacks.js';
import { Tracing, until, Workload } from './support.js';

interface Known {
	readonly memory: string;
	/** The function of the kernel that needs it, and one of its callers. */
	readonly functions: readonly RegExp[];
	/** How many there are at first, and how many stay; undefined: that is the kernel's choice. */
	readonly count?: readonly [number, number];
	readonly bytes?: readonly [number, number];
	/** Of each. */
	readonly size?: number;
}

const CPUS = possibleCpus();
/** What an object of the open files' cache takes, with what the allocator adds; not every kernel says it. */
const SLAB_SIZE = '/sys/kernel/slab/filp/slab_size';
const OPEN_FILE = existsSync(SLAB_SIZE) ? { size: Number(readFileSync(SLAB_SIZE, 'utf8')) } : {};
/** Of test/workloads/kernel_memory.c. */
const KERNEL: Readonly<Record<string, Known>> = {
	// 160 bytes and a struct msg_msg, of 48 (ipc/msgutil.c): kmalloc's next size is 256.
	'messages in a queue': {
		memory: 'slab',
		functions: [/^(load_msg|alloc_msg)$/, /^do_msgsnd$/],
		count: [97, 57],
		size: 256,
	},
	'open files': {
		memory: 'slab',
		functions: [/^alloc_empty_file$/, /openat/],
		count: [53, 33],
		...OPEN_FILE,
	},
	'a value for each CPU': {
		memory: 'per-CPU',
		functions: [/^bpf_map_alloc_percpu$/],
		count: [40, 24],
		bytes: [(16 * 4096 + 24 * 512) * CPUS, 24 * 512 * CPUS],
	},
	// In as many pieces as the file system likes.
	'what was written to files': {
		memory: 'pages',
		functions: [/^(__filemap_get_folio|filemap_alloc_folio|shmem_alloc_folio)/, /write/],
		bytes: [5 << 20, 1 << 20],
	},
};

/** Those of the files' own folder, where that has to grow. */
const FEW_PAGES = 8 * 4096;

/** The sum of those stacks; of slabs, without what a cache took to be one. */
function found({ stacks }: LeakReport, { memory, functions }: Known) {
	const those = functions
		.reduce<ReturnType<typeof withFrame>>((all, name) => withFrame(all, name), [...stacks])
		.filter(({ key }) => key.memory === memory) as unknown as LeakReport['stacks'];
	const slab =
		memory === 'slab' ? those.filter(({ frames }) => isCallOf(frames, functions)) : those;
	const sum = (field: 'value' | 'count' | 'freed_bytes' | 'freed_count') =>
		slab.reduce((all, stack) => all + stack[field], 0);
	return {
		bytes: sum('value'),
		count: sum('count'),
		freed_bytes: sum('freed_bytes'),
		freed_count: sum('freed_count'),
	};
}

/** Whether the function called the allocator itself, and not by way of others. */
function isCallOf(frames: readonly string[], [function_]: readonly RegExp[]): boolean {
	const at = frames.findLastIndex((frame) => function_?.test(frame));
	return (
		at >= 0 &&
		frames.slice(at + 1).every((frame) => /^_*(kmalloc|kmem_cache_alloc|kmem_buckets)/.test(frame))
	);
}

/** `few`: so many events may be missing. */
function assertKnown(
	what: string,
	known: Known,
	{ bytes, count }: { bytes: number; count: number },
	i: 0 | 1,
	few: number,
): void {
	const said = `${what}, ${i === 0 ? 'at first' : 'later'}: ${bytes} bytes in ${count}`;
	const countDue = known.count?.[i] ?? count;
	const bytesDue = known.bytes?.[i] ?? bytes;
	assert.ok(Math.abs(count - countDue) <= few, `${said}, not ${countDue}`);
	if (known.size !== undefined) assert.equal(bytes, known.size * count, said);
	if (known.memory === 'pages') assert.equal(bytes % 4096, 0, said);
	const slack = known.memory === 'pages' ? FEW_PAGES : few * (bytesDue / Math.max(1, countDue));
	assert.ok(Math.abs(bytes - bytesDue) <= slack, `${said}, not ${bytesDue}`);
}

test("of each of the kernel's allocators: bytes and counts, at first and when part of it is freed", async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-memleak-'));
	try {
		const files = [join(folder, 'file'), join(folder, 'kept')];
		const workload = await Workload.start('kernel_memory', ...files);
		const args = ['memleak', '--json', '--comm', 'kernel_memory', '0.5'];
		const tracing = await Tracing.start(args);
		const reports = (): LeakReport[] =>
			tracing.stdout
				.split('\n')
				.slice(0, -1)
				.map((line) => JSON.parse(line));
		/** What the kernel frees later than it is told to, too. */
		const reportWhen = async (what: (report: LeakReport) => boolean) => {
			const before = reports().length;
			const those = () => reports().slice(before + 1);
			await until(() => those().some(what) || those().length >= 20);
			return those().find(what) ?? (those().at(-1) as LeakReport);
		};
		await workload.work();
		const first = await reportWhen(() => true);
		await workload.work();
		const perCpu = KERNEL['a value for each CPU'] as Known;
		const later = await reportWhen((report) => found(report, perCpu).count === perCpu.count?.[1]);
		const all = reports();
		await tracing.end('SIGINT');
		await workload.end();
		// A program that interrupts itself is skipped; hardly ever in what this workload does.
		const missed = all.reduce((sum, { lost }) => sum + (lost.programs_missed ?? 0), 0);
		const few = Math.min(missed, 3);
		for (const [what, known] of Object.entries(KERNEL)) {
			assertKnown(what, known, found(first, known), 0, few);
			assertKnown(what, known, found(later, known), 1, few);
			// What is not there any more was freed, and in the same numbers.
			const [before, after] = [found(first, known), found(later, known)];
			assert.equal(after.freed_bytes - before.freed_bytes, before.bytes - after.bytes, what);
			assert.equal(after.freed_count - before.freed_count, before.count - after.count, what);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});
