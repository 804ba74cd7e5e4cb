/** memleak's options, its limits, and what it says to what cannot be. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { mapsCanGrow } from '../../src/bpf/growing-maps.js';
import { kernelBytesOf } from './kernel-bytes.js';
import { CUTS, ENDS_CUT, type LeakReport, leafOf, leakedBy, leakReport, leaksOf } from './leaks.js';
import { needsNarrowCalls } from './narrow-calls.js';
import { runToEnd, Tracing, tstrace, until, Workload } from './support.js';

const start = (...args: string[]) => Workload.start('leaks', ...args);

test('parts of mappings: what is mapped still, and whose it is', async () => {
	const { report } = await leakedBy(await Workload.start('cuts'));
	assert.deepEqual(leaksOf(report.stacks), CUTS);
	const single = await leakedBy(await Workload.start('cuts'), '-a');
	assert.deepEqual(leaksOf(single.report.stacks), CUTS);
});

test('of parts that are unmapped: what they were, and that none of them is a whole mapping', async () => {
	const { report } = await leakedBy(await Workload.start('cuts'));
	const rows = report.stacks.filter((stack) => leafOf(stack) in ENDS_CUT);
	const freed = rows.map((row) => [leafOf(row), [row.freed_bytes, row.freed_count]]);
	const truth = Object.entries(ENDS_CUT).map(([name, bytes]) => [name, [bytes, 0]]);
	assert.deepEqual(Object.fromEntries(freed), Object.fromEntries(truth));
});

test('what there is no room for is counted', async () => {
	const { report } = await leakedBy(await start('many', '5003'), '--max-allocs', '1000');
	const { leak_many: [bytes, count] = [0, 0] } = leaksOf(report.stacks);
	assert.equal(bytes, 16 * count);
	assert.equal(count + (report.lost.allocations_full ?? 0), 5003);
	assert.ok(count <= 1000);
	// It does not seem to leak either: nobody would see it freed.
	const churn = await leakedBy(await start('many', '5003'), '--max-allocs', '1000', '--churn');
	const [all] = churn.report.stacks.filter((stack) => leafOf(stack) === 'leak_many');
	assert.equal(all?.count, 5003);
	assert.equal(all?.freed_count, churn.report.lost.allocations_full);
	assert.equal(all?.outstanding_bytes, 16 * (5003 - (all?.freed_count ?? 0)));
});

test('room for a million takes no memory of the kernel before there is something to put there', {
	skip: mapsCanGrow() ? false : 'the kernel has no memory for programs (before 6.1)',
}, async () => {
	const leaks = await start('many', '400000');
	const tracing = await Tracing.start(['memleak', '--json', '-p', `${leaks.pid}`]);
	const before = kernelBytesOf(tracing.pid);
	await leaks.work();
	const more = kernelBytesOf(tracing.pid) - before;
	const { status } = await tracing.end('SIGINT');
	await leaks.end();
	assert.equal(status, 0);
	// 0: the kernel does not say it, before 6.4.
	assert.ok(before < 64e6, `${before}`);
	assert.ok(before === 0 || more > 400_000 * 64, `${more}`);
});

test('a million at once', async () => {
	const { report } = await leakedBy(await start('many', '1000000'));
	const { leak_many: [bytes, count] = [0, 0] } = leaksOf(report.stacks);
	assert.equal(count + (report.lost.allocations_full ?? 0), 1_000_000);
	assert.equal(bytes, 16 * count);
	assert.deepEqual(report.lost, {});
});

test('-a of more than are shown: the others are added up, and nothing is lost', async () => {
	const { report } = await leakedBy(await start('many', '100123'), '-a');
	const single = report.stacks.filter(({ key }) => key.address !== undefined);
	assert.equal(single.length, 100_000);
	assert.deepEqual(leaksOf(report.stacks).leak_many, [16 * 100_123, 100_123]);
	assert.match(
		report.notices.join('\n'),
		/lists the 100,000 largest allocations one by one; the other 12\d/,
	);
});

test('-a of the kernel: each by itself, with its address', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-memleak-'));
	try {
		const tracing = await Tracing.start('memleak --json -a --sample-bytes 64K'.split(' '));
		// It stays in the page cache.
		writeFileSync(join(folder, 'pages'), Buffer.alloc(8 << 20));
		const { status, stdout, stderr } = await tracing.end('SIGINT');
		assert.equal(status, 0, stderr);
		const { stacks } = JSON.parse(stdout) as LeakReport;
		assert.ok(stacks.length > 0);
		const each = new Set(stacks.map(({ key }) => `${key.memory} ${key.address}`));
		assert.equal(each.size, stacks.length);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('-z and -Z: sizes from and to', async () => {
	const { report } = await leakedBy(await start('all'), '-z', '300', '-Z', '500');
	assert.deepEqual(leaksOf(report.stacks), {
		leak_reallocarray: [7 * 500, 7],
		leak_posix_memalign: [5 * 300, 5],
		leak_unmoved: [3 * 333, 3],
	});
});

test('-a: each by itself, with its address', async () => {
	const { report } = await leakedBy(await start('all'), '-a', '-z', '4096', '-Z', '4096');
	assert.equal(report.stacks.length, 31);
	assert.equal(new Set(report.stacks.map(({ key }) => key.address)).size, 31);
	for (const { value, count, suspect, growth_bytes } of report.stacks)
		assert.deepEqual([value, count, suspect, growth_bytes], [4096, 1, undefined, undefined]);
});

test('--older: only what is', async () => {
	const none = await leakedBy(await start('all'), '--older', '1h');
	assert.deepEqual(none.report.stacks, []);
	const all = await leakedBy(await start('all'), '--older', '1ms');
	for (const { age_p50_s, age_p90_s, age_max_s } of all.report.stacks) {
		assert.ok(age_p50_s >= 0.001 && age_p50_s <= age_p90_s * 1.02);
		assert.ok(age_p90_s <= age_max_s && age_max_s < 60);
	}
	assert.ok(all.report.stacks.length > 0);
});

test('--churn: all that was allocated, and what of it was freed', async () => {
	const { report } = await leakedBy(await start('all'), '--churn');
	const row = report.stacks.find((stack) => leafOf(stack) === 'leak_shrunk');
	assert.equal(leaksOf(report.stacks).leak_shrunk?.[0], 17 * 190);
	assert.ok(row);
	for (const { suspect } of report.stacks) assert.equal(suspect, undefined);
	const freed = report.stacks
		.filter((stack) => leafOf(stack) === 'free_everything')
		.map(({ value, freed_bytes, outstanding_bytes }) => [value - freed_bytes, outstanding_bytes]);
	assert.ok(freed.length > 0);
	for (const each of freed) assert.deepEqual(each, [0, 0]);
});

test('what grows in every interval is suspect, what does not is not', async () => {
	const workload = await start('grows');
	const args = ['memleak', '--json', '--suspect-after', '3', '-p', `${workload.pid}`, '0.5'];
	const tracing = await Tracing.start(args);
	const lines = () => tracing.stdout.split('\n').filter(Boolean);
	for (let i = 1; i <= 6; i++) {
		await workload.work();
		const seen = lines().length;
		await until(() => lines().length > seen);
	}
	const { stdout } = await tracing.end('SIGINT');
	await workload.end();
	const reports: LeakReport[] = stdout
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line));
	const suspects = reports.flatMap(({ stacks }) => stacks.filter(({ suspect }) => suspect));
	assert.ok(suspects.length > 0);
	assert.deepEqual([...new Set(suspects.map(leafOf))], ['leak_growing']);
	const grown = reports.at(-1)?.stacks.filter((stack) => leafOf(stack) === 'leak_growing') ?? [];
	assert.deepEqual(leaksOf(grown).leak_growing, [60_000, 60]);
});

test('2,000 functions of C++: each has its name and its growth in every interval', async () => {
	const FUNCTIONS = 2000;
	const workload = await Workload.start('mangled');
	const args = ['memleak', '--json', '--suspect-after', '3', '-p', `${workload.pid}`, '1'];
	const tracing = await Tracing.start(args);
	const reports = () => tracing.stdout.split('\n').filter(Boolean);
	const ROUNDS = 4;
	for (let round = 1; round <= ROUNDS; round++) {
		await workload.work();
		const seen = reports().length;
		await until(() => reports().length > seen + (round === ROUNDS ? 1 : 0));
	}
	const { stdout } = await tracing.end('SIGINT');
	await workload.end();
	const all: LeakReport[] = stdout
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line));
	const named = (n: number) =>
		`shop::leak<(unsigned long)${n}>(std::vector<shop::a_rather_long_name_for_an_argument, ` +
		`std::allocator<shop::a_rather_long_name_for_an_argument> > const&, char const (&) [((unsigned long)${n})+(1)])`;
	const known = new Set(Array.from({ length: FUNCTIONS }, (_, n) => named(n)));
	for (const { stacks, lost } of all) {
		assert.deepEqual(lost, {});
		for (const stack of stacks) assert.ok(known.has(leafOf(stack)), leafOf(stack));
		assert.equal(new Set(stacks.map(leafOf)).size, stacks.length);
	}
	assert.deepEqual(
		leaksOf(all.at(-1)?.stacks ?? []),
		Object.fromEntries(
			Array.from({ length: FUNCTIONS }, (_, n) => {
				const count = ROUNDS - (n % 2 === 0 ? 1 : 0);
				return [named(n), [count * (n + 1), count]];
			}),
		),
	);
	// Each round is seen by one interval or two; growth adds up to what there is.
	const grown = new Map<string, number>();
	for (const stack of all.flatMap(({ stacks }) => stacks)) {
		grown.set(leafOf(stack), (grown.get(leafOf(stack)) ?? 0) + stack.growth_bytes);
	}
	for (const stack of all.at(-1)?.stacks ?? []) assert.equal(grown.get(leafOf(stack)), stack.value);
});

for (const [tool, says] of [
	['memleak', /it has no heap; without -p/],
	['syscount', /it makes no system calls/],
] as const) {
	test(`${tool} -p of a kernel thread: one line that says what it is`, () => {
		// kthreadd, the first one.
		const { status, stderr } = tstrace([tool, '-p', '2', '1', '1']);
		assert.equal(status, 1);
		assert.match(stderr, /: 2 \(kthreadd\) is a kernel thread: /);
		assert.match(stderr, says);
		assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
	});
}

test('frees of what was there before are counted', async () => {
	const workload = await start('grows');
	await workload.work();
	const tracing = await Tracing.start(['memleak', '--json', '-p', `${workload.pid}`]);
	await workload.work();
	const report = leakReport(await tracing.end('SIGINT'));
	await workload.end();
	assert.equal(report.unseen_frees, 1);
	assert.deepEqual(leaksOf(report.stacks), { leak_growing: [10_000, 10], hold_steady: [2000, 1] });
});

test('to resize what was there before is to free it, too', async () => {
	const workload = await start('resizes');
	await workload.work();
	const tracing = await Tracing.start(['memleak', '--json', '-p', `${workload.pid}`]);
	for (let i = 0; i < 3; i++) await workload.work();
	const report = leakReport(await tracing.end('SIGINT'));
	await workload.end();
	assert.equal(report.unseen_frees, 1);
	assert.deepEqual(leaksOf(report.stacks), { hold_resized: [1004, 1] });
});

for (const [args, says] of [
	[['-z', '200', '-Z', '100'], /--min-size 200 is more than --max-size 100/],
	[['-a', '--churn'], /-a or --churn/],
	[['--older', '5', '--churn'], /--older or --churn/],
	[['--suspect-after', '2', '--churn'], /--suspect-after or --churn/],
	[['--suspect-after', '2', '-a'], /--suspect-after or -a/],
	[['--suspect-after', '2', '--growth'], /give either --suspect-after or --growth/],
	[['--older', 'soon'], /give seconds from 0 /],
	[['-z', 'much'], /bytes, such as/],
	[['--sample-bytes', '1G'], /at most/],
	[['--growth', '-a'], /give either -a or --growth/],
	[['-O', 'libc.so.6'], /-O works only on the heaps of processes/],
	[['--prefix', 'je_'], /--prefix works only on the heaps of processes/],
	[['--top', 'x'], /a whole number/],
	[['-O', 'libnone.so', '-p', `${process.pid}`], /no such file mapped; it has node/],
] as const) {
	test(`memleak ${args.slice(0, 3).join(' ')}: one line that says why`, () => {
		const { status, stderr } = tstrace(['memleak', ...args]);
		assert.equal(status, 2, stderr);
		assert.match(stderr, says);
		assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
	});
}

test('no allocator that is known: one line that says why', async () => {
	const stripped = await Workload.start('leaks-stripped', 'all');
	const missing = tstrace(['memleak', '-p', `${stripped.pid}`]);
	await stripped.end();
	assert.match(missing.stderr, /leaks-stripped is statically linked and stripped, .*--growth/);
	const workload = await start('all');
	const prefixed = tstrace(['memleak', '--prefix', 'je_', '-p', `${workload.pid}`]);
	await workload.end();
	assert.match(prefixed.stderr, /no je_malloc and je_free in leaks, libc\.so\.6/);
	for (const { status, stderr } of [missing, prefixed]) {
		assert.equal(status, 1);
		assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
	}
});

if (process.arch === 'x64') {
	test('a 32-bit program: one line that says why', needsNarrowCalls(), async () => {
		// exit_group(read(0, buffer, 1)), after write(1, "ready", 9)
		const source = `.globl _start
_start:	mov $4, %eax; mov $1, %ebx; mov $text, %ecx; mov $10, %edx; int $0x80
	mov $3, %eax; xor %ebx, %ebx; mov $buffer, %ecx; mov $1, %edx; int $0x80
	mov $252, %eax; xor %ebx, %ebx; int $0x80
.data
text:	.ascii "ready 0 0\\n"
buffer:	.byte 0
`;
		const build =
			'as --32 -o build/narrow.o - && ld -m elf_i386 -o build/workloads/narrow build/narrow.o';
		const made = runToEnd('sh', ['-c', `printf '%s' "$0" | ${build}`, source]);
		assert.equal(made.status, 0, made.stderr);
		const narrow = await Workload.start('narrow');
		const { status, stderr } = tstrace(['memleak', '-p', `${narrow.starter}`]);
		await narrow.end();
		assert.equal(status, 1);
		assert.match(stderr, /is a 32-bit program, .*use --growth\n$/);
		assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
	});
}
