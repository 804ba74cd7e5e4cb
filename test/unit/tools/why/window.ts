/** A window of time as programs tell of it, for tests of what reads that. */
import type { TestContext } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { off_cpu as layout } from '../../../../src/generated/off_cpu.js';
import { libc } from '../../../../src/loader/ffi.js';
import { PerfRing } from '../../../../src/perf/ring.js';
import { Sideband } from '../../../../src/perf/sideband.js';
import { ProcessHistory } from '../../../../src/symbolize/mappings/processes.js';
import { WindowReader } from '../../../../src/tools/why/reader.js';
import { why } from '../../../../src/tools/why/why.js';
import { ringFile } from '../../loader/ring-file.js';
import { FakeEvents } from '../../perf/fake-events.js';
import { FakeRing, PAGE_BYTES } from '../../perf/fake-ring.js';
import { fakeProc } from '../../proc/fake-proc.js';
import { Kernel } from '../kernel.js';
import { type Fields, structs } from '../structs.js';

const { thread_account, still_waiting, stack_key, stack_sum } = layout.structs;
const { COUNT_ONE, NO_STACK } = layout.enums.stack_constant;
export const S = 1_000_000_000;
/** The window. */
export const [BEGIN_NS, END_NS] = [10 * S, 20 * S];

export type Account = Fields<typeof thread_account>;
/** A thread that is the first one of its process: the kernel's number of it is another one. */
export const account = (tid: number, more: Account): Account => ({
	...{ pid: 1000 + tid, tgid: tid, tid, comm: `thread ${tid}`, traced: 1 },
	...more,
});

interface Happens {
	readonly begin?: readonly Account[];
	readonly end?: readonly Account[];
	/** In the window. */
	readonly ended?: readonly Account[];
	readonly waits?: readonly Uint8Array[];
	readonly open?: readonly Fields<typeof still_waiting>[];
	/** Of a thread, by its number: samples. */
	readonly samples?: readonly (readonly [tid: number, count: number])[];
	/** /proc/stat in ticks of 10 ms: what was busy and stolen meanwhile. */
	readonly busy?: number;
	readonly stolen?: number;
}

export const keyOf = (tid: number) => ({
	...{ kernel: BigInt(NO_STACK), user: BigInt(NO_STACK), tgid: tid, tid, comm: `thread ${tid}` },
});

export function reading(
	t: TestContext,
	happens: Happens,
	raw: Readonly<Record<string, unknown>> = {},
) {
	const events = new FakeEvents(t);
	t.mock.method(PerfRing, 'map', () => new PerfRing(new FakeRing(2 ** 18), PAGE_BYTES));
	t.mock.method(libc(), 'ioctl', () => 0);
	t.mock.method(Sideband.prototype, 'start', () => undefined);
	t.mock.method(ProcessHistory, 'pids', () => []);
	const stat = (busy: number, stolen: number) => ({
		files: {
			'/proc/stat': `cpu  ${busy} 0 0 0 0 0 0 ${stolen} 0 0\n`,
			'/proc/locks':
				'1: POSIX  ADVISORY  WRITE 1 08:01:131 0 EOF\n1: -> POSIX  ADVISORY  WRITE 70 08:01:131 0 EOF\n',
		},
	});
	const say = fakeProc(t, stat(10, 10));
	let now_ns = 9 * S;
	t.mock.method(process.hrtime, 'bigint', () => BigInt(now_ns));
	const { begin = [], end = [], ended = [], waits = [], open = [], samples = [] } = happens;
	const kernel = new Kernel(t, layout);
	kernel.variables.begun_ns = BEGIN_NS;
	kernel.maps.set('sums', [
		structs(
			stack_key,
			samples.map(([tid]) => keyOf(tid)),
		),
		structs(
			stack_sum,
			samples.map(([, count]) => ({ count: count * COUNT_ONE, first_ns: BEGIN_NS })),
		),
		samples.length,
	]);
	const rings = {
		wait_records: ringFile(waits.map((bytes) => ({ bytes }))),
		ended_threads: ringFile(
			ended.map((each) => ({ bytes: new Uint8Array(structs(thread_account, [each]).buffer) })),
		),
	};
	const base = kernel.object as { map: (name: string) => object };
	let isOver = false;
	const attached: string[] = [];
	const did: string[] = [];
	const object = Object.assign(base, {
		map: (
			(map) => (name: string) =>
				rings[name as keyof typeof rings]?.map ?? map(name)
		)(base.map),
		attach: (name: string) => attached.push(name),
		program: () => ({ fd: 5 }),
		setVariable: (name: string) => did.push(name),
		runIterator: (name: string) => {
			did.push(name);
			return name === 'end_waiting'
				? structs(still_waiting, open)
				: structs(thread_account, isOver ? end : begin);
		},
	});
	const { settings } = askedOf(why, { raw, interval_s: undefined, count: 1, command: [] });
	const filter = { pids: [70], tids: [], comms: [], cgroups: [], cpus: [], follow: false };
	const subjects = { filter, command: undefined, words: [] };
	const reader = new WindowReader(object as never, settings, subjects as never, undefined);
	t.after(() => {
		reader.close();
		for (const ring of Object.values(rings)) ring.close();
	});
	const found = async (meanwhile: () => void = () => undefined) => {
		say(stat(5000, 60));
		reader.begin();
		reader.begun();
		meanwhile();
		now_ns = END_NS;
		isOver = true;
		const { busy = 0, stolen = 0 } = happens;
		say(stat(5000 + busy, 60 + stolen));
		reader.end();
		// What happens from now on is no part of it.
		now_ns = 30 * S;
		say(stat(900_000, 900_000));
		return reader.read();
	};
	return { reader, found, events, attached, did, say };
}
