/** syscount against libbpf-tools' syscount, in interleaved runs: see docs/tools/syscount.md. */
import { benchPipe, bpfPerSwitch_ns, out, ratio, slowed_us, spread, startUp } from './support.js';

const ROUNDS = 7;
const START_ROUNDS = 15;
/** A switch of this workload is a write and a read. */
const CALLS_PER_SWITCH = 2;

const OURS = ['bin/tstrace', 'syscount'];
/** Its interval is the whole run, so that printing is no part of it. */
const THEIRS = ['/usr/sbin/syscount', '-d', '1000'];

const VARIANTS = [
	{ name: 'counting', ours: OURS, theirs: THEIRS },
	{ name: 'with -L', ours: [...OURS, '-L'], theirs: [...THEIRS, '-L'] },
];

const perCall = (perSwitch: readonly number[]) => perSwitch.map((ns) => ns / CALLS_PER_SWITCH);

async function bpfTime(): Promise<void> {
	const times = VARIANTS.map(() => ({ ours: [] as number[], theirs: [] as number[] }));
	const byProcess: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		for (const [index, { ours, theirs }] of VARIANTS.entries()) {
			times[index]?.ours.push(await bpfPerSwitch_ns(ours));
			times[index]?.theirs.push(await bpfPerSwitch_ns(theirs));
		}
		byProcess.push(await bpfPerSwitch_ns([...OURS, '-P']));
	}
	out(`BPF time per system call, ns: median (least – most) of ${ROUNDS} interleaved runs`);
	for (const [index, { name }] of VARIANTS.entries()) {
		const { ours = [], theirs = [] } = times[index] ?? {};
		out(`  ${name}`);
		out(`    tstrace syscount       ${spread(perCall(ours))}`);
		out(`    libbpf-tools syscount  ${spread(perCall(theirs))}`);
		out(`    ratio                  ${ratio(ours, theirs)}`);
	}
	out(`  tstrace syscount -P      ${spread(perCall(byProcess))}`);
}

async function slowDown(): Promise<void> {
	const untraced: number[] = [];
	const times = VARIANTS.map(() => ({ ours: [] as number[], theirs: [] as number[] }));
	for (let i = 0; i < ROUNDS; i++) {
		untraced.push(benchPipe());
		for (const [index, { ours, theirs }] of VARIANTS.entries()) {
			times[index]?.ours.push(await slowed_us(ours));
			times[index]?.theirs.push(await slowed_us(theirs));
		}
	}
	out('\nperf bench sched pipe, us per operation');
	out(`  untraced                 ${spread(untraced, 2)}`);
	for (const [index, { name }] of VARIANTS.entries()) {
		const { ours = [], theirs = [] } = times[index] ?? {};
		out(`  ${name}`);
		out(`    tstrace syscount       ${spread(ours, 2)}   x ${ratio(ours, untraced)}`);
		out(`    libbpf-tools syscount  ${spread(theirs, 2)}   x ${ratio(theirs, untraced)}`);
	}
}

await bpfTime();
await slowDown();
await startUp(OURS, START_ROUNDS);
