/** Lists of events, as perf takes them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TstraceError, UsageError } from '../../../src/errors.js';
import { countedEvent, parseEventList, type Tracepoints } from '../../../src/perf/event-list.js';

const POINTS = [
	'sched:sched_switch',
	'sched:sched_waking',
	'syscalls:sys_enter_read',
	'syscalls:sys_enter_readv',
	'raw_syscalls:sys_enter',
	'net:twice',
	'sock:twice',
];
const tracepoints: Tracepoints = {
	id: (category, name) => 100 + POINTS.indexOf(`${category}:${name}`),
	names: () => POINTS,
};
const parse = (text: string) => parseEventList(text, tracepoints);
const names = (text: string) => parse(text).map((event) => event.text);

/** What is said of a list that is refused. */
function refused(text: string): string {
	try {
		parse(text);
	} catch (error) {
		assert.ok(error instanceof UsageError, `${error}`);
		return error.message;
	}
	throw new Error(`${text} is accepted`);
}

test('names, raw events, tracepoints: the numbers of perf_event_open', () => {
	const numbers = parse('page-faults,Instructions,r1a8,LLC-load-misses,sched:sched_waking');
	assert.deepEqual(
		numbers.map(({ type, config }) => [type, config]),
		[
			[1, 2n],
			[0, 1n],
			[4, 0x1a8n],
			[3, 2n | (1n << 16n)],
			[2, 101n],
		],
	);
	assert.deepEqual(names('cs, FAULTS'), ['cs', 'faults'], 'as perf list has what was typed');
});

test('caches have loads, stores and prefetches, each where that makes sense', () => {
	const known = (cache: string) =>
		['loads', 'stores', 'prefetches'].filter((what) => {
			try {
				return parse(`${cache}-${what}`).length;
			} catch {
				return false;
			}
		});
	assert.deepEqual(known('L1-dcache'), ['loads', 'stores', 'prefetches']);
	assert.deepEqual(known('L1-icache'), ['loads', 'prefetches']);
	assert.deepEqual(known('iTLB'), ['loads']);
});

test('modifiers: where to count', () => {
	const spaces = (text: string) => parse(text).map((event) => event.spaces);
	assert.deepEqual(spaces('cycles,cycles:u,cycles:k,cycles:uk,cycles:ku,cycles:h'), [
		[],
		['user'],
		['kernel'],
		['user', 'kernel'],
		['user', 'kernel'],
		['hypervisor'],
	]);
	assert.deepEqual(spaces('sched:sched_switch,sched:sched_switch:k,r1a8:u'), [
		[],
		['kernel'],
		['user'],
	]);
	assert.deepEqual(names('cycles:u,sched:sched_switch:k'), ['cycles:u', 'sched:sched_switch:k']);
	assert.match(refused('cycles:q'), /^-e cycles:q: there is no modifier q: use u \(user space\)/);
	assert.match(refused('cycles:up'), /modifier p says nothing about counting/);
	assert.match(refused('cycles:u:k'), /too many colons/);
	assert.match(refused('a:b:c:d'), /too many colons/);
});

test('groups: their members have one number, and the modifier of the group', () => {
	const list = parse('cs,{cycles,instructions}:u,{branches,branch-misses:k}');
	assert.deepEqual(
		list.map(({ group }) => group !== undefined),
		[false, true, true, true, true],
	);
	const groups = list.map(({ group }) => group);
	assert.equal(groups[1], groups[2]);
	assert.equal(groups[3], groups[4]);
	assert.notEqual(groups[1], groups[3]);
	assert.deepEqual(
		list.map(({ spaces }) => spaces.join()),
		['', 'user', 'user', '', 'kernel'],
	);
	assert.deepEqual(
		parse('{cycles:k}:u').map((event) => [event.spaces, event.text]),
		[[['user', 'kernel'], 'cycles:ku']],
	);
	for (const text of ['{cycles', 'cycles}', '{a,{b}}', '{cycles}x']) {
		assert.match(refused(text), /is no group|too many|is missing|no event/, text);
	}
	assert.match(refused('{}'), /an event is missing/);
	assert.match(refused('cycles,,cs'), /an event is missing/);
});

test('what happens in the kernel alone', () => {
	const kernelOnly = (text: string) => parse(text).map((event) => event.kernelOnly);
	assert.deepEqual(
		kernelOnly('context-switches,cpu-migrations,sched:sched_switch,page-faults,task-clock,cycles'),
		[true, true, true, false, false, false],
	);
});

test('patterns of tracepoints are all that match', () => {
	assert.deepEqual(names('syscalls:sys_enter_rea*:u'), [
		'syscalls:sys_enter_read:u',
		'syscalls:sys_enter_readv:u',
	]);
	assert.deepEqual(names('*:twice'), ['net:twice', 'sock:twice']);
	assert.deepEqual(names('syscalls:sys_enter_read?'), ['syscalls:sys_enter_readv']);
	assert.match(refused('sched:sched.switch*'), /no tracepoint is like/, 'a point is a point');
	assert.match(refused('sched:no*'), /no tracepoint is like sched:no\*/);
});

test('unknown names: what may be meant', () => {
	assert.match(
		refused('pagefaults'),
		/no event "pagefaults": did you mean page-faults or faults\?/,
	);
	assert.match(refused('nothing-like-it'), /no event "nothing-like-it"; `perf list`/);
	assert.match(refused('sched_switch'), /did you mean sched:sched_switch\?/);
	assert.match(refused('sys_enter'), /did you mean raw_syscalls:sys_enter\?/);
	assert.doesNotMatch(refused('enter'), /sys_enter/, 'another name');
	assert.match(
		refused('sched:sched_swich'),
		/tracepoint sched:sched_swich: did you mean sched:sched_switch/,
	);
	assert.match(refused('cpu/event=1'), /those of a PMU are as msr\/tsc\/, with two slashes/);
	assert.match(refused('no-such-pmu/event=1,umask=2/,cycles'), /there is no PMU no-such-pmu/);
	assert.match(refused('../../etc:x'), /is no tracepoint/);
	assert.match(refused('sched:../x'), /is no tracepoint/);
});

test('ambiguous names: all that are meant', () => {
	assert.match(refused('cache'), /^-e: "cache" is ambiguous: cache-references, cache-misses$/);
	assert.match(refused('twice'), /^-e: "twice" is ambiguous: there are net:twice, sock:twice$/);
	assert.match(refused('L1'), /ambiguous: L1-dcache-loads, .*, and \d+ more$/);
});

test('tracepoints that may not be read are another thing than a wrong name', () => {
	const unreadable: Tracepoints = {
		id: () => {
			throw new TstraceError('may not be read');
		},
		names: () => {
			throw new TstraceError('may not be read');
		},
	};
	assert.throws(() => parseEventList('sched:sched_switch', unreadable), /may not be read/);
	assert.throws(() => parseEventList('bogus', unreadable), /there is no event "bogus"; /);
	assert.equal(parseEventList('page-faults', unreadable).length, 1);
});

test('an event by a name that is certain', () => {
	const { type, config, text, spaces, kernelOnly } = countedEvent('task-clock');
	assert.deepEqual([type, config, text, spaces, kernelOnly], [1, 1n, 'task-clock', [], false]);
	assert.throws(() => countedEvent('bogus'), /there is no event "bogus"/);
});
