/** What a thread waited for and who ended that, where another one is late with its answer: kinds, objects, chains. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { chainText, checkedRuns, ofChain, wakersOf, within } from './chain-reports.js';
import { MemoryCgroup } from './memory-cgroup.js';
import {
	foldedLines,
	type JsonStack,
	stackReport,
	sumOf,
	timeFor,
	traceWork,
	withFrame,
} from './stacks.js';
import { runToEnd, Tracing, Workload } from './support.js';

const COUNT = 30;

/** What the workload says of those that answer. */
interface Answerer {
	readonly pid: number;
	readonly comm: string;
	readonly port: number;
	/** How long was waited for its answers, as the workload measured it. */
	readonly waited_ns: number;
}

async function traced(args: readonly string[], [name = '', ...words]: readonly string[]) {
	const [way = '', ...more] = words;
	const workload = await Workload.start(name, way, `${COUNT}`, ...more);
	const tracing = await Tracing.start([...args, '--json', '-p', `${workload.pid}`]);
	const done = await workload.work();
	const { stacks, lost } = stackReport(await tracing.end('SIGINT'));
	await workload.end();
	const [slept_ns = 0, late_ns = 0, waited_ns = 0, port = 0, ...other] = done;
	const answerer: Answerer = {
		...{ pid: workload.tid, comm: way === 'epoll' ? 'slow' : 'answerer' },
		...{ port, waited_ns },
	};
	const [otherWaited_ns = 0, otherPort = 0, pid = 0] = other;
	const quick: Answerer = { pid, comm: 'quick', port: otherPort, waited_ns: otherWaited_ns };
	const waits = withFrame(stacks, 'wait_for_answer');
	return { lost, waits, slept_ns, late_ns, answerer, quick, pid: workload.pid };
}

type Run = Awaited<ReturnType<typeof traced>>;

/** Of the blocked waits, nearly all are of that kind: the rest is of a thread that another one got ahead of. */
function ofKind(waits: readonly JsonStack[], kind: string, field: 'value' | 'blocked') {
	const found = waits.filter(({ wait }) => wait?.kind === kind);
	const kinds = waits.map((stack) => `${stack.wait?.kind}: ${stack[field]}`).join(', ');
	assert.ok(sumOf(found, field) >= 0.97 * sumOf(waits, field), `not only ${kind}: ${kinds}`);
	return found;
}

const objectsIn = (stacks: readonly JsonStack[]) =>
	stacks.flatMap(({ wait }) => wait?.objects ?? []);

/**
 * Traces a workload by offcputime and by offwaketime: asker waited in this kind for as long as the
 * answerers slept, who were asleep when it waited; `look` looks at the rest of both.
 */
async function answered(
	workload: readonly string[],
	kind: string,
	look: (run: Run, waits: readonly JsonStack[]) => void,
): Promise<void> {
	const asleep = ({ slept_ns, late_ns }: Run) => slept_ns - late_ns;
	const mostOf = ({ answerer, quick }: Run) => answerer.waited_ns + quick.waited_ns;
	await checkedRuns(
		() => traced(['offcputime'], workload),
		(run) => {
			const waits = ofKind(run.waits, kind, 'blocked');
			within(sumOf(waits, 'blocked'), asleep(run), mostOf(run), `blocked in ${kind}`);
			look(run, waits);
		},
	);
	await checkedRuns(
		() => traced(['offwaketime', '--hops', '4'], workload),
		(run) => {
			const waits = ofKind(run.waits, kind, 'value');
			const names = [run.answerer, run.quick].map(({ comm }) => comm);
			const chains = names.flatMap((comm) => ofChain(waits, `${comm} blocked < <irq: timer>`));
			const seen = waits.map((stack) => `${chainText(stack)}: ${stack.value}`).join(', ');
			// By its own clock it sleeps until it has a CPU again.
			const late = names.flatMap((comm) => ofChain(waits, `${comm} waited_for_cpu`));
			const slept_ns = sumOf(chains) + sumOf(late);
			within(slept_ns, asleep(run), mostOf(run), `for answerers that slept: ${seen}`);
			for (const stack of chains) {
				const [waker] = wakersOf(stack);
				assert.equal(waker?.wait?.kind, 'sleep');
				assert.ok(waker?.frames?.includes('doze'), `${waker?.frames}`);
			}
			look(run, waits);
		},
	);
}

test('a condition variable: its name, and who signals it sleeps before', () =>
	answered(['answers', 'condition'], 'condition', (run, waits) => {
		const at = objectsIn(waits).map((object) => [object.type, object.pid, object.in]);
		assert.ok(at.length > 0);
		for (const [type, pid, lies] of at) {
			assert.deepEqual([type, pid], ['futex', run.pid]);
			assert.match(`${lies}`, /^condition(\+0x[0-9a-f]{1,2})?$/);
		}
		const value_ns = timeFor(waits, () => true);
		within(value_ns, run.slept_ns - run.late_ns, run.answerer.waited_ns, 'at the condition');
	}));

/** Whether it is a connection to this process alone. */
function isTo({ port, pid, comm }: Answerer, object: Readonly<Record<string, unknown>>): boolean {
	if (object.remote !== `127.0.0.1:${port}`) return false;
	const { local, value_ns: _, ...socket } = object;
	const { remote } = object;
	const wanted = { type: 'socket', protocol: 'tcp', remote, other_end: [{ pid, comm }] };
	assert.deepEqual(socket, wanted);
	assert.match(`${local}`, /^127\.0\.0\.1:\d+$/);
	assert.notEqual(local, remote);
	return true;
}

test('TCP: the address and the process at the other end, and that it slept', () =>
	answered(['answers', 'tcp'], 'socket_receive', ({ answerer, late_ns, slept_ns }, waits) => {
		const value_ns = timeFor(waits, (object) => isTo(answerer, object));
		within(value_ns, slept_ns - late_ns, answerer.waited_ns, 'for the answerer');
		assert.equal(
			value_ns,
			timeFor(waits, () => true),
			'for nobody else',
		);
	}));

test('epoll with two at the other end: each has the time that it was waited for', () =>
	answered(['answers', 'epoll'], 'poll', ({ answerer, quick, late_ns }, waits) => {
		for (const who of [answerer, quick]) {
			const { waited_ns, comm } = who;
			const value_ns = timeFor(waits, (object) => isTo(who, object));
			within(value_ns, waited_ns - late_ns, waited_ns, `for ${comm}`);
			// What ended the wait is what it was for.
			const woken = waits.filter(({ wait }) => wait?.waker?.comm === comm);
			for (const object of objectsIn(woken)) assert.ok(isTo(who, object), JSON.stringify(object));
		}
		assert.ok(quick.waited_ns < answerer.waited_ns / 2, 'the slow one takes most of the time');
	}));

test('accept: at which address, and who connects slept before', () =>
	answered(['answers', 'accept'], 'socket_accept', ({ answerer, slept_ns, late_ns }, waits) => {
		const listening = { type: 'socket', protocol: 'tcp', local: `127.0.0.1:${answerer.port}` };
		for (const { value_ns: _, ...object } of objectsIn(waits))
			assert.deepEqual(object, { ...listening, remote: '', other_end: [] });
		const value_ns = timeFor(waits, () => true);
		within(value_ns, slept_ns - late_ns, answerer.waited_ns, 'at that address');
	}));

const FORBIDDEN = 3;
const uring = ['answers-kernel', 'uring'] as const;
const isForbidden =
	runToEnd(resolve('build/workloads', uring[0]), [uring[1], '0']).status === FORBIDDEN;

test(
	'io_uring: a read that waits; for what is not known, and is said to be',
	isForbidden ? { skip: 'io_uring is forbidden here' } : {},
	async () => {
		await answered(uring, 'io_uring', (_, waits) => {
			for (const { wait } of waits) assert.equal(wait?.objects, undefined);
		});
		const workload = await Workload.start(...uring, `${COUNT}`);
		const args = ['offcputime', '--by', 'object', '--folded', '-p', `${workload.pid}`];
		const { finished, done } = await traceWork(workload, args);
		const [slept_ns = 0, late_ns = 0, waited_ns = 0] = done;
		const lines = foldedLines(finished.stdout).filter(([frames]) => frames[0] === '[io_uring]');
		const value_us = lines.reduce((sum, [, value]) => sum + value, 0);
		within(1000 * value_us, slept_ns - late_ns, waited_ns, 'for what is not known');
	},
);

test(
	'a memory cgroup at its limit: memory is waited for, not a page; who raises the limit slept before',
	existsSync('/sys/fs/cgroup/memory/memory.oom_control')
		? {}
		: { skip: 'the memory controller of cgroups is not there, or not of version 1' },
	async () => {
		const group = MemoryCgroup.make('answers');
		try {
			const workload = ['answers-kernel', 'memory', group.folder];
			await answered(workload, 'memory_reclaim', (_, waits) => {
				for (const { wait } of waits) assert.equal(wait?.objects, undefined);
			});
		} finally {
			group.remove();
		}
	},
);
