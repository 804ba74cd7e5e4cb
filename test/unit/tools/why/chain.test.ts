/** Who ended waits, link by link. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Waker } from '../../../../src/aggregate/stack-rows.js';
import { type Link, linksOf, tellingFunction } from '../../../../src/tools/why/chain.js';
import { file, futex, interrupt, nobody, pipe, STACK_OF, stack, waker } from './support.js';

const key = (tid: number) => ({ context: 'thread', pid: 1000 + tid, tid, comm: `t${tid}` });
const share = (object: ReturnType<typeof file>, value: number) => ({
	...{ object, value, count: 1, variance: 0 },
});

test('a chain ends where nobody tells any more, and that one is not a link', () => {
	const chain = waker('was blocked', STACK_OF.pipe, {
		key: key(1),
		objects: [share(pipe('read'), 9), share(file('/a'), 2)],
		waker: waker('was blocked', STACK_OF['disk read'], {
			key: key(2),
			objects: [share(file('/data'), 5)],
			waker: interrupt({ context: 'softirq', irq: 'block' }),
		}),
	});
	const told = linksOf(chain).map(({ comm, pid, tid, did, kind, object, function: name }) => [
		...[comm, pid, tid, did, kind, object, name],
	]);
	assert.deepEqual(told, [
		['t1', 1001, 1, 'was blocked', 'pipe', 'pipe read', 'drink'],
		['t2', 1002, 2, 'was blocked', 'disk read', '/data', 'load'],
	]);
});

test('the first link is told in any case, with what is known of it', () => {
	const [link, ...more] = linksOf(interrupt({ context: 'softirq', irq: 'timer' }, '<timer>'));
	assert.deepEqual(more, []);
	assert.deepEqual(link, {
		...{ comm: '<timer>', pid: 0, tid: 0, did: undefined, kind: '', object: '', of: undefined },
		...{ function: '', frames: [], isInterrupt: true, isNobody: false },
	} satisfies Link);
	assert.equal(linksOf(interrupt({ context: 'hardirq' }))[0]?.isInterrupt, true);
	assert.equal(linksOf(interrupt({ context: 'scheduler' }))[0]?.isInterrupt, false);
	const [none] = linksOf(nobody('[not woken yet]'));
	assert.deepEqual([none?.isNobody, none?.isInterrupt, none?.pid], [true, false, 0]);
	const [process] = linksOf(waker('ran', 'f', { key: { context: 'thread', pid: 7, comm: 'p' } }));
	assert.deepEqual([process?.pid, process?.tid, process?.isNobody], [7, 7, false]);
});

test('who ran is told after who was blocked; what it ran for is no kind', () => {
	const links = linksOf(
		waker('was blocked', STACK_OF.lock, {
			key: key(1),
			objects: [share(futex('m', { owner: { tid: 3, comm: 'h' } }), 4)],
			waker: waker('ran', 'main compute', { key: key(2), objects: [share(file('/x'), 1)] }),
		}),
	);
	assert.deepEqual(
		links.map(({ did, kind, object, of, function: name }) => [did, kind, object, of?.type, name]),
		[
			['was blocked', 'lock', 'm, held by h (3)', 'futex', 'enter'],
			['ran', '', '', undefined, 'compute'],
		],
	);
});

test('what is not known is no object; the interpreter lock has its name', () => {
	const of = (object: ReturnType<typeof file>) =>
		linksOf(waker('was blocked', STACK_OF.condition, { objects: [share(object, 1)] }))[0];
	assert.equal(of({ type: 'unknown', why: 'no room' })?.object, '');
	const gil = of(futex('_PyRuntime+0x5a8'));
	assert.deepEqual([gil?.kind, gil?.object], ['lock', 'of the Python interpreter (GIL)']);
	assert.equal(linksOf(waker('was blocked', STACK_OF.condition))[0]?.object, '');
});

test('a thousand links are a thousand links', () => {
	let last: Waker = waker('ran', 'end');
	for (let tid = 0; tid < 999; tid++)
		last = waker('was blocked', STACK_OF.pipe, { key: key(tid), waker: last });
	assert.equal(linksOf(last).length, 1000);
	assert.equal(linksOf(last).at(-1)?.function, 'end');
});

test('the telling function is of the program, has a name, and is bare', () => {
	const of = (text: string) => tellingFunction({ frames: stack(text) });
	assert.equal(of('main handle (read) | ksys_read'), 'handle');
	assert.equal(of('main handle(int,char) (read)'), 'handle');
	assert.equal(of('main std::vector<int>::f.constprop.0'), 'std::vector<>::f');
	assert.equal(of('main app+0x34b406 (read)'), 'main');
	assert.equal(of('[unknown]'), '');
	assert.equal(of('app+0x34b406 | ksys_read'), '');
	assert.equal(of('| ksys_read'), '');
	assert.equal(of(''), '');
});
