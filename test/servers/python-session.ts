/** Python web servers that tests ask: what their applications do, how they are asked, and what tstrace has to say of it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage, type RequestOptions } from 'node:http';
import { namedShare, nameOf, pythonOf } from '../live/python.js';
import { type JsonStack, near, sumOf } from '../live/stacks.js';
import { during } from './support.js';

/** Of such an application. Each says how long it was there: on the clock, or of CPU time. */
export const WORK = `
import time
def wait_for_partner(): time.sleep(0.02)
def compute():
    end = time.thread_time() + 0.01
    while time.thread_time() < end: pass
def answer(path):
    clock, work = {'/wait': (time.monotonic_ns, wait_for_partner), '/compute': (time.thread_time_ns, compute)}[path]
    began = clock()
    work()
    return str(clock() - began)
`;

/** What the application says: the nanoseconds that it took. */
async function ask(options: RequestOptions): Promise<number> {
	const [answer] = (await once(get({ agent: false, ...options }), 'response')) as [IncomingMessage];
	let text = '';
	for await (const part of answer.setEncoding('utf8')) text += part;
	assert.equal(answer.statusCode, 200, text);
	return Number(text);
}

/** So many requests for it, so many at a time: what they took, all together. */
export async function askAll(
	options: RequestOptions,
	requests: number,
	atOnce: number,
): Promise<number> {
	let left = requests;
	let sum_ns = 0;
	const client = async () => {
		while (left-- > 0) {
			const took_ns = await ask(options);
			sum_ns += took_ns;
		}
	};
	await Promise.all(Array.from({ length: atOnce }, client));
	return sum_ns;
}

/** Functions of an application: with `name` called by `callers`, innermost first, and by nobody else. */
function calledBy(
	stacks: readonly JsonStack[],
	name: string,
	callers: readonly string[],
): readonly JsonStack[] {
	const own = stacks.filter((stack) => pythonOf(stack).map(nameOf).includes(name));
	for (const stack of own)
		assert.deepEqual(pythonOf(stack).map(nameOf), [name, ...callers], stack.frames.join('\n'));
	return own;
}

/** A server under load, and by which functions it calls `answer`. */
interface Server {
	readonly pid: number;
	readonly options: RequestOptions;
	readonly callers: readonly string[];
}

const LEAST_NAMED = 0.99;
const AT_ONCE = 8;

/** offcputime has the function wait as long as the application says. */
export async function assertWaits({ pid, options, callers }: Server): Promise<void> {
	const { report, done } = await during(['offcputime', '--exact', '-p', `${pid}`], () =>
		askAll({ ...options, path: `${options.path}/wait` }, 300, AT_ONCE),
	);
	const named = namedShare(report.stacks);
	assert.ok(named >= LEAST_NAMED, `${named}`);
	const own = calledBy(report.stacks, 'wait_for_partner', ['answer', ...callers]);
	near(sumOf(own), done, 0.03 * done, 'ns in wait_for_partner');
}

/** profile has the function take as much CPU time as the application says. */
export async function assertComputes({ pid, options, callers }: Server): Promise<void> {
	const { report, done } = await during(['profile', '-F', '499', '-p', `${pid}`], () =>
		askAll({ ...options, path: `${options.path}/compute` }, 300, AT_ONCE),
	);
	const named = namedShare(report.stacks);
	assert.ok(named >= LEAST_NAMED, `${named}`);
	const own = calledBy(report.stacks, 'compute', ['answer', ...callers]);
	const found_ns = (sumOf(own) / (report.frequency_hz ?? assert.fail())) * 1e9;
	near(found_ns, done, 0.1 * done, 'ns in compute');
}
