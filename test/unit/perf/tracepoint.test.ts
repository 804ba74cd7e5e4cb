/** Tracepoints, as tracefs lists them: of one that the test makes up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	openTracepoint,
	tracefsText,
	tracepointId,
	tracepointNames,
} from '../../../src/perf/tracepoint.js';
import { errorOf, withFiles } from '../loader/replaced.js';
import { FakeEvents } from './fake-events.js';

const FIRST = '/sys/kernel/tracing';
const SECOND = '/sys/kernel/debug/tracing';
const idAt = (folder: string | undefined) => `${folder}/events/sched/made_up/id`;
const gone = errorOf('ENOENT');

test('a tracepoint by its number, wherever tracefs is mounted', (t) => {
	const elsewhere = { [`${FIRST}/events`]: gone, [idAt(FIRST)]: gone, [idAt(SECOND)]: '77\n' };
	assert.equal(
		withFiles(elsewhere, () => tracepointId('sched', 'made_up')),
		77,
	);
	assert.equal(
		withFiles({ [idAt(FIRST)]: '76\n' }, () => tracepointId('sched', 'made_up')),
		76,
	);
	const kernel = new FakeEvents(t);
	withFiles({ [idAt(FIRST)]: '76\n' }, () => openTracepoint('sched', 'made_up'));
	const [asked] = kernel.asked;
	assert.deepEqual(
		[asked?.type, asked?.config, asked?.pid, asked?.flags],
		[2, 76, -1, ['disabled', 'use_clockid']],
	);
});

test('tracefs that is not there, or may not be read, is another thing than a tracepoint that is not there', () => {
	/** What is said of it; `there`: whether tracefs is, and what reading the tracepoint's file throws. */
	const said = (...folders: readonly (readonly [there: boolean, code: string])[]) => {
		const files = folders.flatMap(([there, code], i) => [
			[`${[FIRST, SECOND][i]}/events`, there ? '' : gone] as const,
			[idAt([FIRST, SECOND][i]), errorOf(code)] as const,
		]);
		try {
			return withFiles(Object.fromEntries(files), () => tracepointId('sched', 'made_up'));
		} catch (error) {
			return (error as Error).message;
		}
	};
	const unreadable = (folder: string) => `${folder} may not be read: run tstrace as root`;
	assert.equal(said([false, 'EACCES'], [false, 'ENOENT']), unreadable(FIRST));
	assert.equal(said([false, 'EPERM'], [false, 'ENOENT']), unreadable(FIRST));
	assert.equal(said([false, 'ENOENT'], [false, 'EACCES']), unreadable(SECOND));
	const none = 'this kernel has no tracepoint sched:made_up';
	assert.equal(said([true, 'ENOENT'], [false, 'ENOENT']), none);
	assert.equal(said([false, 'ENOENT'], [true, 'ENOENT']), none);
	// Who may read the one need not read the other.
	assert.equal(said([true, 'ENOENT'], [false, 'EACCES']), none);
	assert.match(`${said([false, 'ENOENT'], [false, 'ENOENT'])}`, /^tracefs is not mounted: mount /);
});

test('names are in order, and of text files there is the first', () => {
	const list = 'sched:b\nirq:z\nsched:a\n';
	const names = withFiles({ [`${FIRST}/available_events`]: list }, tracepointNames);
	assert.deepEqual(names, ['irq:z', 'sched:a', 'sched:b']);
	const formats = { [`${FIRST}/events/x`]: gone, [`${SECOND}/events/x`]: 'second' };
	assert.equal(
		withFiles(formats, () => tracefsText('events/x')),
		'second',
	);
	const neither = { [`${FIRST}/events/x`]: gone, [`${SECOND}/events/x`]: gone };
	assert.equal(
		withFiles(neither, () => tracefsText('events/x')),
		undefined,
	);
});
