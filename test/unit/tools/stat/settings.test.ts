/** What stat's options mean together, and what it refuses; reasons in words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { UsageError } from '../../../../src/errors.js';
import {
	type CountedEvent,
	countedEvent,
	parseEventList,
} from '../../../../src/perf/event-list.js';
import { perfEventMount } from '../../../../src/proc/cgroup.js';
import { mountsThere } from '../../../../src/proc/mounts.js';
import { stat } from '../../../../src/tools/stat/stat.js';
import { refusePmus } from '../../../../src/tools/stat/target.js';
import { descriptorsText, whyNot } from '../../../../src/tools/stat/why-not.js';

interface Given {
	readonly interval_s?: number;
	readonly count?: number;
	readonly command?: readonly string[];
}

/** As commander hands them over. */
function asked(raw: object, { interval_s, count, command = [] }: Given = {}) {
	return askedOf(stat, { raw: { ...raw }, interval_s, count, command });
}

function refused(raw: object, given: Given, says: RegExp): void {
	assert.throws(
		() => asked(raw, given),
		(error) => {
			assert.ok(error instanceof UsageError, `${error}`);
			assert.match(error.message, says);
			return true;
		},
	);
}

const COMMAND = { command: ['true'] };
const namesOf = (events: readonly CountedEvent[]) => events.map(({ text }) => text);

test('the usual events, by what is counted', () => {
	const usual = namesOf(asked({}, COMMAND).settings.events);
	assert.deepEqual(usual, [
		'task-clock',
		'context-switches',
		'cpu-migrations',
		'page-faults',
		'minor-faults',
		'major-faults',
		'cycles',
		'instructions',
		'branches',
		'branch-misses',
		'cache-references',
		'cache-misses',
	]);
	assert.deepEqual(namesOf(asked({}).settings.events), ['cpu-clock', ...usual.slice(1)]);
	assert.deepEqual(namesOf(asked({ pid: [7] }).settings.events), usual);
	assert.equal(namesOf(asked({ cgroup: ['x'] }).settings.events)[0], 'cpu-clock');
	const detailed = namesOf(asked({ detailed: true }, COMMAND).settings.events);
	assert.deepEqual(detailed.slice(0, usual.length), usual);
	assert.ok(detailed.includes('dTLB-load-misses') && detailed.includes('LLC-loads'));
	const chosen = asked({ event: ['cycles:u', 'cs,{faults,cs}'] }, COMMAND).settings.events;
	assert.deepEqual(namesOf(chosen), ['cycles:u', 'cs', 'faults', 'cs']);
});

test('the time between results: by a number or by --interval, not by both', () => {
	assert.deepEqual([asked({}).interval_s, asked({}).settings.intervals], [undefined, false]);
	const number = asked({}, { interval_s: 2 });
	assert.deepEqual([number.interval_s, number.settings.intervals], [2, true]);
	const once = asked({}, { interval_s: 2, count: 1 });
	assert.deepEqual([once.interval_s, once.settings.intervals], [2, false]);
	const option = asked({ interval: 250 });
	assert.deepEqual([option.interval_s, option.settings.intervals], [0.25, true]);
	refused({ interval: 250 }, { interval_s: 2 }, /once: --interval, or the number 2$/);
});

test('what goes with what: both are named', () => {
	refused({ repeat: 3 }, {}, /^--repeat needs a COMMAND/);
	refused({ repeat: 3 }, { ...COMMAND, interval_s: 1 }, /^give either --repeat or an interval/);
	refused({ repeat: 3, interval: 100 }, COMMAND, /^give either --repeat or --interval/);
	refused({ allCpus: true }, COMMAND, /^give either --all-cpus or a COMMAND/);
	refused(
		{ cgroup: ['x'] },
		COMMAND,
		/^give either a cgroup \(--cgroup, --container\) or a COMMAND/,
	);
	refused(
		{ cgroup: ['x'], pid: [1] },
		{},
		/^give either --pid or a cgroup \(--cgroup, --container\)/,
	);
	refused({ cgroup: ['x'], tid: [1] }, {}, /^give either --tid or a cgroup/);
	refused({ cgroup: ['x', 'y'] }, {}, /^give one --cgroup or --container: stat counts one/);
	refused({ pid: [1], tid: [1] }, {}, /^give either --pid or --tid/);
	refused({ csv: true, output: 'x.json' }, {}, /^give either --csv or json/);
	refused({ comm: ['x'] }, {}, /^leave out --comm: .*pgrep NAME/);
	refused({ userThreads: true }, {}, /^leave out --user-threads: .*cycles:u/);
	refused({ kernelThreads: true }, {}, /^leave out --kernel-threads: .*cycles:k/);
	refused({ event: [''] }, {}, /^-e: give names of events/);
	assert.equal(asked({ repeat: 3 }, COMMAND).settings.repeat, 3);
});

test('what is counted, for the words about it', () => {
	const of = (raw: object, given: Given = {}) => {
		const { settings } = asked(raw, given);
		return [settings.of, settings.choice];
	};
	assert.deepEqual(of({}), ['cpus', '']);
	assert.deepEqual(of({}, COMMAND), ['program', ' -- COMMAND']);
	assert.deepEqual(of({ pid: [7, 8] }), ['program', ' -p 7,8']);
	assert.deepEqual(of({ tid: [7] }), ['program', ' -t 7']);
	assert.deepEqual(of({ cgroup: ['/a/b'] }), ['cgroup', ' --cgroup /a/b']);
});

test('the line that tracing has begun says what is counted', () => {
	const subject = (raw: object) => {
		const { settings, common } = asked(raw, COMMAND);
		return stat.subject(settings, { filter: common.filter, command: 1, words: [] });
	};
	assert.equal(subject({}), '12 events');
	assert.equal(subject({ event: ['page-faults:u'] }), 'page-faults:u');
	assert.equal(subject({ event: ['cs,faults'], repeat: 5 }), '2 events, 5 times');
	assert.equal(subject({ repeat: 1 }), '12 events');
});

const MACHINE = { pmu: false, virtual: true };

test('why an event has no count, and what to do', () => {
	const why = (name: string, errno: string, machine = MACHINE, group?: number) =>
		whyNot({ ...countedEvent(name), group }, { errno, message: 'as it was' }, machine);
	assert.match(
		why('cycles', 'ENOENT'),
		/^this virtual machine has no hardware counters .*page faults .*can be counted/,
	);
	assert.match(
		why('LLC-loads', 'EOPNOTSUPP', { ...MACHINE, virtual: false }),
		/^this machine has no hardware/,
	);
	assert.equal(
		why('cycles', 'ENOENT', { ...MACHINE, pmu: true }),
		'this processor does not count it',
	);
	assert.equal(why('page-faults', 'ENOENT'), 'this kernel does not count it');
	assert.equal(why('context-switches', 'EACCES'), 'as it was');
	assert.match(
		why('cycles', 'EINVAL', MACHINE, 0),
		/^its group does not fit.*make the group smaller$/,
	);
	assert.equal(why('cycles', 'EINVAL'), 'as it was');
	assert.equal(why('cycles', 'EBUSY'), 'as it was');
	const [raw] = parseEventList('r1a8') as [CountedEvent];
	assert.match(whyNot(raw, { errno: 'ENOENT', message: '' }, MACHINE), /^this virtual machine/);
});

test('too many descriptors: how many are needed, and three ways out', () => {
	assert.equal(
		descriptorsText(3000, 12, 0, 1024),
		'too many open files: 3,000 threads x 12 events need 36,000 descriptors, and the limit is 1,024: raise it ' +
			'(ulimit -Hn 40000; ulimit -n 40000), name fewer events (-e), or count the cgroup (--cgroup), which ' +
			'needs one for each event and CPU',
	);
	assert.match(descriptorsText(10, 2, 4, 64), /10 threads x 2 events x 4 CPUs need 80 descriptors/);
});

test('where the controller perf_event of version 1 is', () => {
	const mounted = (text: string) => perfEventMount(mountsThere(text));
	const mounts =
		'cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n' +
		'cgroup /sys/fs/my\\040cgroups/perf cgroup rw,perf_event 0 0\n';
	assert.equal(mounted(mounts), '/sys/fs/my cgroups/perf');
	assert.equal(
		mounted('cgroup /x cgroup rw,cpu 0 0\ncgroup2 /y cgroup2 rw,perf_event 0 0'),
		undefined,
	);
});

test('milliseconds between results: a plain number, or a time with a unit', () => {
	const { interval } = stat.options();
	const parse = (text: string) => interval.parseArg?.(text, undefined as never);
	assert.deepEqual(['10', '500ms', '2s', '1m', '10.5'].map(parse), [10, 500, 2000, 60_000, 10.5]);
	for (const text of ['9', '0.5', '9ms', '25h', 'x', ''])
		assert.throws(() => parse(text), /give milliseconds from 10 to 86400000, or 500ms, 2s or 5m/);
});

test('events of a PMU are counted where it has them, for whom it tells apart', () => {
	const filterOf = (raw: object) => asked(raw).common.filter;
	const event = {
		...countedEvent('cycles'),
		text: 'power/energy-pkg/',
		onCpus: [0, 4],
		shared: true,
	};
	const refusedFor = (raw: object, says: RegExp, command = false) =>
		assert.throws(() => refusePmus([event], filterOf(raw), command), says);
	refusedFor(
		{ pid: [1] },
		/^Error: -e power\/energy-pkg\/: .* the whole machine only: count with -a$/,
	);
	refusedFor({ tid: [1] }, /whole machine only/);
	refusedFor({ cgroup: ['x'] }, /whole machine only/);
	refusedFor({}, /whole machine only/, true);
	refusedFor({ cpu: [1, 2] }, /on CPU 0, 4 only: choose it with -C, or count with -a$/);
	refusePmus([event], filterOf({}), false);
	refusePmus([event], filterOf({ cpu: [1, 4] }), false);
	refusePmus([{ ...event, shared: false }], filterOf({ pid: [1] }), false);
	const refusal = { errno: 'EINVAL', message: '' };
	const machine = { pmu: true, virtual: false };
	const inUserSpace = { ...event, spaces: ['user'] as const };
	assert.match(whyNot(inUserSpace, refusal, machine), /leave out the modifier$/);
});
