/** offcputime against libbpf-tools' own, side by side on the same work. */
import { benchPipe, bpfPerSwitch_ns, median, out, slowed_us, spread } from './support.js';

const ROUNDS = Number(process.argv[2] ?? 3);
const OURS = ['bin/tstrace', 'offcputime', '-o', '/dev/null'];
const EXACT = [...OURS, '--exact'];
const THEIRS = ['/usr/sbin/offcputime'];

const ours: number[] = [];
const exact: number[] = [];
const theirs: number[] = [];
for (let i = 0; i < ROUNDS; i++) {
	ours.push(await bpfPerSwitch_ns(OURS));
	exact.push(await bpfPerSwitch_ns(EXACT));
	theirs.push(await bpfPerSwitch_ns(THEIRS));
}
out('BPF time per context switch, ns');
out(`  tstrace offcputime      ${spread(ours)}   x ${(median(ours) / median(theirs)).toFixed(3)}`);
out(
	`  tstrace --exact         ${spread(exact)}   x ${(median(exact) / median(theirs)).toFixed(3)}`,
);
out(`  libbpf-tools offcputime ${spread(theirs)}`);

const untraced: number[] = [];
const slow: number[][] = [[], [], []];
for (let i = 0; i < ROUNDS; i++) {
	untraced.push(benchPipe());
	for (const [index, command] of [OURS, EXACT, THEIRS].entries()) {
		slow[index]?.push(await slowed_us(command));
	}
}
out('\nperf bench sched pipe, us per operation');
out(`  untraced                ${spread(untraced, 2)}`);
for (const [index, name] of ['tstrace offcputime', 'tstrace --exact', 'libbpf-tools'].entries()) {
	const values = slow[index] ?? [];
	out(
		`  ${name.padEnd(23)} ${spread(values, 2)}   x ${(median(values) / median(untraced)).toFixed(2)}`,
	);
}
