/** memleak on programs that leak known amounts in functions of known names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXACT, needsHook } from './call-hooks.js';
import { ALL, CAUGHT, FREEING, leakedBy, leaksOf, NEWS } from './leaks.js';
import { foldedLines, stackReport, sumOf, traceWork, withFrame } from './stacks.js';
import { Workload } from './support.js';

const start = (name: string, ...args: string[]) => Workload.start(name, ...args);
/** With another allocator than the C library's. */
const preloaded = (library: string, name: string, ...args: string[]) =>
	Workload.startBy('env', `LD_PRELOAD=${library}`, `build/workloads/${name}`, ...args);

const { leak_pvalloc: _, ...WITHOUT_PVALLOC } = ALL;

for (const [what, begin, truth] of [
	['glibc', () => start('leaks', 'all'), ALL],
	['glibc, linked statically', () => start('leaks-static', 'all'), ALL],
	['musl', () => start('leaks-musl', 'all'), WITHOUT_PVALLOC],
	['jemalloc', () => preloaded('libjemalloc.so.2', 'leaks', 'all'), ALL],
	['tcmalloc', () => preloaded('libtcmalloc_minimal.so.4', 'leaks', 'all'), ALL],
] as const) {
	test(`${what}: bytes, counts and names of all that stays`, async () => {
		const { report } = await leakedBy(await begin());
		assert.deepEqual(leaksOf(report.stacks), truth);
		assert.deepEqual(report.lost, {});
		assert.equal(report.unseen_frees, 0);
	});
}

for (const [what, begin] of [
	['glibc', () => start('freeing')],
	['glibc, linked statically', () => start('freeing-static')],
	['jemalloc', () => preloaded('libjemalloc.so.2', 'freeing')],
	['tcmalloc', () => preloaded('libtcmalloc_minimal.so.4', 'freeing')],
	['an allocator with its own mmap', () => preloaded('build/workloads/libfreeing.so', 'freeing')],
] as const) {
	test(`threads of ${what} that free first: what they map counts, what free maps does not`, async () => {
		const { report } = await leakedBy(await begin());
		assert.deepEqual(leaksOf(report.stacks), FREEING);
		assert.deepEqual(report.lost, {});
	});
}

for (const [what, begin] of [
	['libstdc++', () => start('news')],
	['libstdc++, linked statically', () => start('news-static')],
	['jemalloc', () => preloaded('libjemalloc.so.2', 'news')],
	['tcmalloc', () => preloaded('libtcmalloc_minimal.so.4', 'news')],
] as const) {
	test(`operators new of ${what}: counted once, with their callers; they still throw`, async () => {
		const { report, done } = await leakedBy(await begin());
		assert.deepEqual(done, [CAUGHT]);
		assert.deepEqual(leaksOf(report.stacks), NEWS);
		assert.deepEqual(report.lost, {});
		// Operators delete call free, which is no free of something else; but for what was there before.
		assert.ok(report.unseen_frees <= 1, `${report.unseen_frees}`);
	});
}

test('folded: the same, with whole stacks', async () => {
	const workload = await start('leaks', 'all');
	const { finished } = await traceWork(workload, ['memleak', '--folded', '-p', `${workload.pid}`]);
	const lines = foldedLines(finished.stdout);
	const bytes = lines.map(([frames, value]) => [frames.at(-1), value] as const);
	const truth = Object.entries(ALL).map(([name, [value]]) => [name, value] as const);
	const sums = new Map<string | undefined, number>();
	for (const [name, value] of bytes) sums.set(name, (sums.get(name) ?? 0) + value);
	assert.deepEqual([...sums].sort(), truth.sort());
	for (const [frames] of lines) assert.deepEqual(frames.slice(-3, -1), ['main', 'leak_all']);
});

for (const hook of EXACT) {
	test(
		`--growth: ${hook}: pages, break and mappings, each where it grew`,
		needsHook(hook),
		async () => {
			const PAGES = 3001;
			const PAGE_BYTES = 4096;
			const workload = await start('grows', `${PAGES}`);
			const args = ['memleak', '--growth', '--json', '-p', `${workload.pid}`];
			const env = { TSTRACE_FORCE: hook };
			const report = stackReport((await traceWork(workload, args, env)).finished);
			const grownIn = (name: string) => {
				const stacks = withFrame(report.stacks, name);
				const memory = new Set(stacks.map(({ key }) => key.memory));
				return [...memory, sumOf(stacks), sumOf(stacks, 'count')];
			};
			assert.deepEqual(grownIn('grow_by_faults'), ['page faults', PAGES * PAGE_BYTES, PAGES]);
			assert.deepEqual(grownIn('grow_by_brk'), ['brk', 5 * 3 * PAGE_BYTES, 5]);
			assert.deepEqual(grownIn('grow_by_mmap'), ['mmap', 11 * 7 * PAGE_BYTES, 11]);
			assert.deepEqual(grownIn('call_narrow'), [0, 0]);
			// Memset, whatever this libc calls it, has no frame pointer: only unwind tables lead to its caller.
			const inLibrary = report.stacks.filter(({ frames }) => frames.includes('grow_in_library'));
			const pages = sumOf(inLibrary) / PAGE_BYTES;
			// Where the machine is too busy to read the tables before tracing begins, that is said.
			const isLate = report.stacks.some(({ cut }) => cut === 'no table');
			// Memset itself may have to come in, too: a page of its code, or two.
			if (!isLate) assert.ok(pages >= 200 && pages <= 202, `${pages} pages`);
			for (const stack of inLibrary) {
				assert.equal(stack.cut, undefined);
				assert.equal(stack.caller_missing, undefined);
			}
			assert.match(report.notices.join('\n'), /has [\d.]+ MiB resident \(\+1\d\.\d MiB\)/);
			assert.deepEqual(report.lost, {});
		},
	);
}
