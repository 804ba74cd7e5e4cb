/** Threads that wait for each other: who has the mutexes, and that it will not end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stackReport } from './stacks.js';
import { tstrace, Workload } from './support.js';

/** Runs `look` while they wait; `left`, `right` and `late` are their numbers. */
async function inDeadlock(
	look: (threads: { pid: number; left: number; right: number; late: number }) => void,
): Promise<void> {
	const workload = await Workload.start('deadlock');
	const [right = 0, late = 0] = await workload.work();
	look({ pid: workload.pid, left: workload.tid, right, late });
	await workload.end();
}

test('who waits for a mutex is told who has it, by JSON and in text', () =>
	inDeadlock(({ pid, left, right, late }) => {
		const args = ['offcputime', '-L', '-p', `${pid}`, '0.3'];
		const { stacks } = stackReport(tstrace([...args, '--json']));
		const owner = (tid: number) =>
			stacks.flatMap(({ key, wait }) => (key.tid === tid ? (wait?.objects ?? []) : []))[0]?.owner;
		assert.deepEqual(owner(left), { tid: right, comm: 'right' });
		assert.deepEqual(owner(right), { tid: left, comm: 'left' });
		assert.deepEqual(owner(late), { tid: left, comm: 'left' });
		const { stdout } = tstrace([...args, '--format', 'text']);
		const held = `left_mutex, held by left \\(${left}\\)  blocked`;
		assert.match(stdout, new RegExp(`lock  right .*\\n +${held}`));
	}));

test('a circle is said once, without who only waits for one of its threads', () =>
	inDeadlock((of) => {
		const { notices } = stackReport(tstrace(['offcputime', '-p', `${of.pid}`, '0.3', '--json']));
		const said = notices.filter((notice) => /^deadlock/.test(notice));
		const [left, right] = [`left (${of.left})`, `right (${of.right})`];
		const circle = (a: string, b: string) =>
			`deadlock: ${a} waits for a mutex that ${b} has, which waits for one that ${a} has`;
		assert.equal(said.length, 1, notices.join('\n'));
		assert.ok([circle(left, right), circle(right, left)].includes(`${said[0]}`), said[0]);
	}));
