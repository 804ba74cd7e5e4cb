/** Events of a PMU, by what the kernel says of it in files: here those of a made one. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { parseEventList } from '../../../src/perf/event-list.js';
import { pmuEvents, pmuEventsNamed, splitPmuEvent } from '../../../src/perf/pmu-events.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-pmus-'));
after(() => rmSync(folder, { recursive: true }));

const FILES: Readonly<Record<string, string>> = {
	'cpu/type': '4',
	'cpu/format/event': 'config:0-7,32-35',
	'cpu/format/umask': 'config:8-15',
	'cpu/format/edge': 'config:18',
	'cpu/format/ldlat': 'config1:0-15',
	'cpu/format/filter': 'config2:4-7',
	'cpu/events/mem-loads': 'event=0xcd,umask=0x1,ldlat=3',
	'cpu/events/needs': 'event=0x1,filter=?',
	'power/type': '20',
	'power/cpumask': '0,4-5',
	'power/format/event': 'config:0-7',
	'power/events/energy-pkg': 'event=0x02',
	'power/events/energy-pkg.scale': '2.5e-10',
	'power/events/energy-pkg.unit': 'Joules',
	'power/events/energy-pkg.per-pkg': '1',
	'power/events/plain': 'event=0x03',
	'power/events/scaled': 'event=0x04',
	'power/events/scaled.scale': '64',
	...Object.fromEntries(
		[0, 2, 10].flatMap((number) => [
			[`uncore_imc_${number}/type`, `${30 + number}`],
			[`uncore_imc_${number}/cpumask`, '0'],
			[`uncore_imc_${number}/events/reads`, 'config=0x5'],
		]),
	),
	'uncore_imc_free_running/type': '50',
	'cpu_atom/type': '8',
	'cpu_atom/cpus': '2-3',
	'cpu_atom/format/event': 'config:0-7',
	'odd/format/event': 'config:0-7',
	'both/type': '60',
	'both/cpumask': '1',
	'both/cpus': '0-7',
	...Object.fromEntries(
		Array.from({ length: 10 }, (_, i) => [`both/format/field${i}`, `config:${i}`]),
	),
	'gone/type': '9',
	'gone/cpus': '',
	'gone/format/event': 'config:0-7',
	'cpu/format/late': 'config3:0-11',
};
for (const [path, text] of Object.entries(FILES)) {
	mkdirSync(dirname(join(folder, path)), { recursive: true });
	writeFileSync(join(folder, path), `${text}\n`);
}

const one = (pmu: string, terms: string) => {
	const events = pmuEvents(pmu, terms, folder);
	assert.equal(events.length, 1);
	return events[0];
};
const refused = (pmu: string, terms: string): string => {
	try {
		pmuEvents(pmu, terms, folder);
	} catch (error) {
		assert.ok(error instanceof UsageError);
		return error.message;
	}
	return assert.fail(`${pmu}/${terms}/ is taken`);
};

test('a text of that form has a PMU, terms and a modifier', () => {
	assert.deepEqual(splitPmuEvent('cpu/event=1,umask=2/u'), {
		pmu: 'cpu',
		terms: 'event=1,umask=2',
		modifier: 'u',
	});
	assert.equal(splitPmuEvent('power/energy-pkg/:k')?.modifier, 'k');
	for (const none of ['cycles', 'sched:sched_switch', 'cpu/event=1', '/x/', 'a/b/c/'])
		assert.equal(splitPmuEvent(none), undefined, none);
});

test('each field goes to the bits that its format names', () => {
	const event = one('cpu', 'event=0xabc,umask=3,edge,ldlat=258,filter=9');
	assert.equal(event?.type, 4);
	assert.equal(event?.config, (0xan << 32n) | 0xbcn | (3n << 8n) | (1n << 18n));
	assert.equal(event?.config1, 258n);
	assert.equal(event?.config2, 9n << 4n);
	assert.equal(event?.name, 'cpu/event=0xabc,umask=3,edge,ldlat=258,filter=9/');
	assert.deepEqual([event?.shared, event?.onCpus, event?.scale], [false, undefined, undefined]);
	const whole = one('cpu', 'config=0x8000000000000001,config1=2,config2=3,name=mine');
	assert.deepEqual(
		[whole?.config, whole?.config1, whole?.config2, whole?.name],
		[0x8000000000000001n, 2n, 3n, 'mine'],
	);
});

test('a name stands for its fields, and more can be added', () => {
	assert.equal(one('cpu', 'mem-loads')?.config, 0x1cdn);
	assert.equal(one('cpu', 'mem-loads')?.config1, 3n);
	assert.equal(one('cpu', 'mem-loads,edge')?.config, 0x1cdn | (1n << 18n));
	assert.equal(one('cpu', 'mem-loads,ldlat=8')?.config1, 8n, 'what is typed is stronger');
	assert.equal(one('cpu', 'umask=6,mem-loads')?.config, 0x6cdn);
	assert.equal(one('cpu', 'needs,filter=2')?.config2, 2n << 4n);
	assert.match(refused('cpu', 'needs'), /needs needs filter=…/);
});

test('a PMU that CPUs share: where it is counted, and in what', () => {
	const event = one('power', 'energy-pkg');
	assert.deepEqual([event?.shared, event?.onCpus], [true, [0, 4, 5]]);
	assert.deepEqual(event?.scale, { factor: 2.5e-10, unit: 'Joules' });
	assert.equal(one('power', 'plain')?.scale, undefined);
	assert.deepEqual(one('power', 'scaled')?.scale, { factor: 64, unit: 'events' });
	const both = one('both', 'field3');
	assert.deepEqual([both?.shared, both?.onCpus, both?.config], [true, [1], 8n]);
	const atom = one('cpu_atom', 'event=1');
	assert.deepEqual([atom?.shared, atom?.onCpus], [false, [2, 3]]);
});

test('one name, or a pattern, for several PMUs', () => {
	const names = (pmu: string) => pmuEvents(pmu, 'reads', folder).map(({ name }) => name);
	const all = ['uncore_imc_0/reads/', 'uncore_imc_2/reads/', 'uncore_imc_10/reads/'];
	assert.deepEqual(names('uncore_imc'), all);
	assert.deepEqual(names('imc'), all);
	assert.deepEqual(names('uncore_imc_?'), all.slice(0, 2));
	for (const pmu of ['uncore_imc_2', 'imc_2'])
		assert.deepEqual(names(pmu), ['uncore_imc_2/reads/']);
	assert.deepEqual(
		pmuEvents('uncore_imc', 'reads', folder).map(({ type, config }) => [type, config]),
		[
			[30, 5n],
			[32, 5n],
			[40, 5n],
		],
	);
});

test('what is not there, or has no room', () => {
	assert.match(refused('cpo', 'x'), /^-e cpo\/x\/: there is no PMU cpo: did you mean cpu/);
	assert.match(refused('cpu', 'evnt=1'), /there is no evnt; did you mean event/);
	assert.match(refused('both', ''), /PMU both has field0, .*, field7, and 2 more$/);
	assert.match(refused('cpu', ''), /a term is missing; PMU cpu has mem-loads, needs, edge/);
	assert.match(
		refused('cpu', 'event=0x1000'),
		/0x1000 is too large: it has the bits config:0-7,32-35/,
	);
	assert.match(refused('cpu', 'event=ten'), /event=ten is no number of 64 bits/);
	assert.match(refused('cpu', 'event=0x10000000000000000'), /is no number of 64 bits/);
	assert.match(refused('cpu', 'event=1,period=3'), /period says nothing about counting/);
	assert.equal(splitPmuEvent('../x/'), undefined);
	assert.match(refused('cpu', '../type'), /there is no \.\.\/type/);
	assert.match(refused('power', 'energy-pkg.scale'), /there is no energy-pkg\.scale/);
	assert.match(refused('odd', 'event=1'), /^-e odd\/event=1\/: the kernel does not tell its type/);
	assert.match(refused('gone', 'event=1'), /no CPU of PMU gone is online/);
	assert.match(refused('cpu', 'late=1'), /late is in config3, which tstrace cannot set/);
	assert.match(refused('cpu', 'event=1=2'), /event=1=2 is no number/);
	assert.match(refused('cpu', 'config=18446744073709551616'), /is no number of 64 bits/);
	assert.equal(one('cpu', 'config=18446744073709551615')?.config, 2n ** 64n - 1n);
	assert.throws(
		() => pmuEvents('cpu', 'x', join(folder, 'none')),
		/there is no PMU cpu: .* lists none$/,
	);
});

test('a bare name is found among the events of all PMUs', () => {
	assert.deepEqual(pmuEventsNamed('energy-pkg', folder), ['power/energy-pkg/']);
	for (const about of ['unit', 'scale', 'per-pkg'])
		assert.deepEqual(pmuEventsNamed(`energy-pkg.${about}`, folder), []);
	assert.equal(pmuEventsNamed('reads', folder).length, 3);
});

test('of a group that several PMUs have, each has its own', () => {
	const none = { id: () => 0, names: () => [] };
	const list = 'cycles,{uncore_imc/reads/,uncore_imc/config=7/}:k,{cycles,instructions}';
	const events = parseEventList(list, none, folder);
	const byGroup = new Map<number | undefined, string[]>();
	for (const { group, text } of events) byGroup.set(group, [...(byGroup.get(group) ?? []), text]);
	assert.deepEqual(
		[...byGroup.values()],
		[
			['cycles'],
			...[0, 2, 10].map((n) => [`uncore_imc_${n}/reads/:k`, `uncore_imc_${n}/config=7/:k`]),
			['cycles', 'instructions'],
		],
	);
	assert.deepEqual(events[1]?.spaces, ['kernel']);
	assert.throws(() => parseEventList('cpu/event=1/u:k', none, folder), /no modifier :/);
});
