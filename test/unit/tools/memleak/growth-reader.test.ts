/** Where processes grow: which page faults are seen, from when to when, and how much memory is said to be resident. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PerfCallHooks } from '../../../../src/bpf/calls/call-hooks.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { memleak as layout } from '../../../../src/generated/memleak.js';
import { perf_event_attr } from '../../../../src/generated/uapi.js';
import { libc } from '../../../../src/loader/ffi.js';
import { onlineCpus, PerCpuEvents } from '../../../../src/perf/cpus.js';
import { eventOf } from '../../../../src/perf/names.js';
import { PerfRing } from '../../../../src/perf/ring.js';
import { Sideband } from '../../../../src/perf/sideband.js';
import { ProcessWatch } from '../../../../src/symbolize/process-watch.js';
import { memleak } from '../../../../src/tools/memleak/memleak.js';
import { FakeEvents } from '../../perf/fake-events.js';
import { FakeRing, PAGE_BYTES } from '../../perf/fake-ring.js';
import { fakeProc, NOBODY } from '../../proc/fake-proc.js';
import { Kernel } from '../kernel.js';

const FAULTS = ['minor-faults', 'major-faults'].map((name) => Number(eventOf(name).config));
const [CPU = 0] = onlineCpus();

function growing(t: TestContext, subjects: object, raw: object = {}) {
	const kernel = new FakeEvents(t);
	t.mock.method(PerfRing, 'map', () => new PerfRing(new FakeRing(2 ** 18), PAGE_BYTES));
	t.mock.method(libc(), 'ioctl', () => 0);
	t.mock.method(Sideband.prototype, 'start', () => undefined);
	const hooks = {
		attach: t.mock.method(PerfCallHooks.prototype, 'attach', () => undefined),
		close: t.mock.method(PerfCallHooks.prototype, 'close', () => undefined),
	};
	const object = Object.assign(new Kernel(t, layout).object, { program: () => ({ fd: 5 }) });
	const { settings } = askedOf(memleak, {
		...{ raw: { growth: true, ...raw }, interval_s: 1, count: undefined, command: [] },
	});
	const everything = { pids: [], tids: [], comms: [], cgroups: [], cpus: [] };
	const reader = memleak.reader(
		object as never,
		settings,
		{ filter: { ...everything, ...subjects }, command: undefined, words: [], ...subjects } as never,
		...([() => undefined, undefined] as const),
	);
	t.after(() => reader.close?.());
	const faults = () =>
		[...kernel.open.values()]
			.filter(({ config }) => FAULTS.includes(config))
			.map(({ config, cpu, flags, attributes }) => {
				const { offset } = perf_event_attr.fields.sample_period;
				const period = Number(attributes.getBigUint64(offset, true));
				return [config, cpu, flags.includes('freq') ? undefined : period];
			});
	return { reader, faults, hooks };
}

test('every page fault of both kinds is seen, on the CPUs that were chosen, and calls beside them; until the end', (t) => {
	const { reader, faults, hooks } = growing(t, { pids: [process.pid], cpus: [CPU] });
	reader.begin?.();
	assert.deepEqual(
		faults(),
		FAULTS.map((config) => [config, CPU, 1]),
	);
	assert.deepEqual(hooks.attach.mock.calls[0]?.arguments[1], [['memleak_call_perf', 'sys_enter']]);
	t.mock.method(ProcessWatch.prototype, 'drain', () => undefined);
	const refresh = t.mock.method(PerCpuEvents.prototype, 'refresh', () => undefined);
	reader.drain?.();
	assert.equal(refresh.mock.callCount(), 2);
	reader.end?.();
	assert.deepEqual(faults(), []);
	assert.equal(hooks.close.mock.callCount(), 1);
});

for (const [who, subjects] of [
	['a process that was chosen', { pids: [NOBODY] }],
	['COMMAND', { command: NOBODY }],
] as const)
	test(`how much more memory ${who} has than in the beginning; names as was asked for`, async (t) => {
		const status = (kb: number) => ({
			files: { [`/proc/${NOBODY}/status`]: `VmRSS:\t${kb} kB\n` },
		});
		const say = fakeProc(t, status(1024));
		const { reader } = growing(t, subjects, { maxDepth: 9, debuginfod: false });
		const name = t.mock.method(ProcessWatch.prototype, 'name', async () => {
			return { stacks: [], notices: ['of names'] };
		});
		reader.begin?.();
		say(status(3072));
		const { notices } = (await reader.read()) as { notices: readonly string[] };
		assert.deepEqual(notices, [`process ${NOBODY} has 3.00 MiB resident (+2.00 MiB).`, 'of names']);
		const [, { maxDepth, debuginfod } = {} as never] = name.mock.calls[0]?.arguments ?? [];
		assert.deepEqual([maxDepth, debuginfod], [9, false]);
	});
