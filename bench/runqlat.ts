/** runqlat against libbpf-tools' runqlat, in interleaved runs: see docs/tools/runqlat.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
	benchPipe,
	bpfPerSwitch_ns,
	out,
	ratio,
	slowed_us,
	spread,
	startUp,
	Tracer,
} from './support.js';

const ROUNDS = 7;
const START_ROUNDS = 15;
const OURS = ['bin/tstrace', 'runqlat'];
const THEIRS = ['/usr/sbin/runqlat'];
const WAIT_S = 10;

async function bpfTime(): Promise<void> {
	const ours: number[] = [];
	const grouped: number[] = [];
	const theirs: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		ours.push(await bpfPerSwitch_ns(OURS));
		grouped.push(await bpfPerSwitch_ns([...OURS, '-L']));
		theirs.push(await bpfPerSwitch_ns(THEIRS));
	}
	out(`BPF time per context switch, ns: median (least – most) of ${ROUNDS} interleaved runs`);
	out(`  tstrace runqlat         ${spread(ours)}`);
	out(`  libbpf-tools runqlat    ${spread(theirs)}`);
	out(`  ratio                   ${ratio(ours, theirs)}`);
	out(`  tstrace runqlat -L      ${spread(grouped)}`);
}

async function slowDown(): Promise<void> {
	const untraced: number[] = [];
	const ours: number[] = [];
	const theirs: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		untraced.push(benchPipe());
		ours.push(await slowed_us(OURS));
		theirs.push(await slowed_us(THEIRS));
	}
	out('\nperf bench sched pipe, us per operation');
	out(`  untraced                ${spread(untraced, 2)}`);
	out(`  tstrace runqlat         ${spread(ours, 2)}   x ${ratio(ours, untraced)}`);
	out(`  libbpf-tools runqlat    ${spread(theirs, 2)}   x ${ratio(theirs, untraced)}`);
}

/** Time on CPU in ns: /proc/PID/task/TID/schedstat, of all threads. */
function onCpu_ns(pid: number): number {
	let time_ns = 0;
	for (const tid of readdirSync(`/proc/${pid}/task`)) {
		const schedstat = readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8');
		time_ns += Number(schedstat.split(' ')[0]);
	}
	return time_ns;
}

async function waiting(): Promise<void> {
	const tracer = await Tracer.start(OURS);
	const pid = tracer.child.pid as number;
	const before = onCpu_ns(pid);
	await sleep(WAIT_S * 1000);
	const used = (onCpu_ns(pid) - before) / (WAIT_S * 1e9);
	const status = readFileSync(`/proc/${pid}/status`, 'utf8');
	const kilobytes = (name: string) =>
		Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
	out(`\nwhile it waits, over ${WAIT_S} s`);
	out(`  CPU                     ${(used * 100).toFixed(3)} % of one`);
	out(`  resident memory         ${(kilobytes('VmRSS') / 1024).toFixed(1)} MB`);
	out(`  its peak                ${(kilobytes('VmHWM') / 1024).toFixed(1)} MB`);
	await tracer.end();
}

await bpfTime();
await slowDown();
await startUp(OURS, START_ROUNDS);
await waiting();
