/** What verdicts say of those who had the CPUs, or used the disks, meanwhile; and when they say nothing of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import type { OtherProcesses } from '../../../../src/tools/why/machine.js';
import { verdict } from './reading.js';
import { ALONE, blocked, forCpu, SECOND, STACK_OF, thread } from './support.js';

const MIB = 1 << 20;
const other = (comm: string, rest: Partial<OtherProcesses> = {}): OtherProcesses => ({
	...{ pid: 311, disk_pid: 312, comm, processes: 1, run_ns: 0, read_bytes: 0, written_bytes: 0 },
	...rest,
});

/** Process 70 ran for 1 s of 10, and for the rest had no CPU. */
function crowded(rest: Partial<Evidence['machine']> = {}, threads: Evidence['threads'] = []) {
	const { text, next } = verdict({
		threads: [thread(10 * SECOND, SECOND, { tid: 70 }), ...threads],
		forCpu: [forCpu('preempted', 9 * SECOND, { tid: 70, count: 90 })],
		machine: { ...ALONE, ...rest },
	});
	return { of: /Of \d.*?\.(?= |$)/.exec(text.replace(/(\d)\.(\d)/g, '$1,$2'))?.[0], next };
}

test('who lacks a CPU, and who has it: how many CPUs each had', () => {
	const none = { of: 'Of 2 CPUs, it had 0,1.', next: 'tstrace schedlat -P 5 1' };
	assert.deepEqual(crowded(), none);
	assert.deepEqual(crowded({ others: [other('nap', { run_ns: 0.99 * SECOND })] }), none);
	assert.deepEqual(crowded({ others: [other('spin', { run_ns: 19 * SECOND })] }), {
		of: 'Of 2 CPUs, it had 0,1, and spin (311) 1,9.',
		next: 'tstrace profile -p 311 5',
	});
	const several = other('cc1', { run_ns: 12 * SECOND, processes: 8, pid: 0 });
	assert.deepEqual(crowded({ cpus: 1, others: [several] }), {
		of: 'Of 1 CPU, it had 0,1, and cc1 and 7 more 1,2.',
		next: 'tstrace schedlat -P 5 1',
	});
	const runs = (comm: string, seconds: number) => other(comm, { run_ns: seconds * SECOND });
	assert.equal(
		crowded({ cpus: 4, others: [runs('c', 7), runs('b', 8), runs('a', 9)] }).of,
		'Of 4 CPUs, it had 0,1, a (311) 0,9, and b (311) 0,8.',
	);
});

test('who takes the CPU is one process that has a number here: of several none is the one', () => {
	const took = (rest: Partial<OtherProcesses>) => {
		const others = [other('cc1', { run_ns: 12 * SECOND, ...rest })];
		return crowded({ others }).next;
	};
	assert.equal(took({ pid: 312 }), 'tstrace profile -p 312 5');
	assert.equal(took({ pid: 312, processes: 2 }), 'tstrace schedlat -P 5 1');
	assert.equal(took({ pid: 0 }), 'tstrace schedlat -P 5 1');
	// The same of those that are traced.
	const traced = (pid: number) =>
		thread(10 * SECOND, 3 * SECOND, { pid, tid: pid, comm: 'greedy' });
	const both = crowded({}, [traced(90), traced(91)]);
	assert.equal(both.of, 'Of 2 CPUs, it had 0,1, and greedy (90) and 1 more 0,6.');
	assert.equal(both.next, 'tstrace schedlat -P 5 1');
	assert.equal(crowded({}, [traced(90)]).next, 'tstrace profile -p 90 5');
});

test('who had less CPU time than those who lack a CPU is not who takes it', () => {
	const threads = [thread(10 * SECOND, 5 * SECOND, { pid: 70, tid: 72 })];
	const others = [other('spin', { run_ns: 4 * SECOND })];
	assert.equal(crowded({ others }, threads).next, 'tstrace schedlat -P 5 1');
	assert.equal(crowded({ others }).next, 'tstrace profile -p 311 5');
});

test('a traced process may be the one that has the CPUs: all its threads, by the name of its first', () => {
	const greedy = [
		thread(10 * SECOND, 3 * SECOND, { pid: 90, tid: 91, comm: 'helper' }),
		thread(10 * SECOND, 4 * SECOND, { pid: 90, tid: 90, comm: 'greedy' }),
	];
	assert.deepEqual(crowded({ others: [other('spin', { run_ns: 6 * SECOND })] }, greedy), {
		of: 'Of 2 CPUs, it had 0,1, greedy (90) 0,7, and spin (311) 0,6.',
		next: 'tstrace profile -p 90 5',
	});
});

test('CPUs that went to what has ended, or to the hypervisor', () => {
	const cpus = (rest: Partial<Evidence['machine']>) => crowded(rest).of;
	assert.equal(
		cpus({ ended_ns: 5 * SECOND, stolen_ns: 2 * SECOND }),
		'Of 2 CPUs, it had 0,1, others, which have ended, 0,5, and the hypervisor 0,2.',
	);
	// Who is there and had more is the one to look at.
	const others = [other('spin', { run_ns: 6 * SECOND })];
	assert.equal(
		cpus({ ended_ns: 5 * SECOND, others }),
		'Of 2 CPUs, it had 0,1, and spin (311) 0,6.',
	);
	assert.equal(cpus({ ended_ns: 0.9 * SECOND, stolen_ns: 0.9 * SECOND }), 'Of 2 CPUs, it had 0,1.');
});

test('of waits for a disk: who used disks more than those who waited', () => {
	const waits = (kind: 'disk read' | 'page fault' | 'lock', rest: Partial<Evidence['machine']>) => {
		const { text } = verdict({
			threads: [thread(10 * SECOND, 0, { tid: 70 })],
			blocked: [blocked(STACK_OF[kind], 10 * SECOND, { count: 20, key: { tid: 70 } })],
			machine: { ...ALONE, ...rest },
		});
		return /Meanwhile .*?\.(?= )/.exec(text)?.[0];
	};
	const heavy = { others: [other('spin', { run_ns: 9 }), other('dd', { read_bytes: 300 * MIB })] };
	assert.equal(waits('disk read', heavy), 'Meanwhile dd (312) read 300 MiB.');
	assert.equal(waits('page fault', heavy), 'Meanwhile dd (312) read 300 MiB.');
	assert.equal(waits('lock', heavy), undefined);
	const own = { read_bytes: 200 * MIB, written_bytes: 100 * MIB };
	assert.equal(waits('disk read', { ...heavy, own }), undefined);
	const both = { others: [other('tar', { read_bytes: 200 * MIB, written_bytes: 101 * MIB })] };
	assert.equal(
		waits('disk read', { ...both, own }),
		'Meanwhile tar (312) read 200 MiB and wrote 101 MiB.',
	);
	assert.equal(
		waits('disk read', { others: [other('dd', { written_bytes: MIB - 1 })] }),
		undefined,
	);
});
