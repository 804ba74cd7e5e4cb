/** Tracing with BPF programs, from the object to its end: what is done in which order, and what is put together. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { TableFindings } from '../../../src/aggregate/report.js';
import { runqlat as layout } from '../../../src/generated/runqlat.js';
import { bpf_prog_info } from '../../../src/generated/uapi.js';
import { libbpf } from '../../../src/loader/ffi.js';
import { BpfObject } from '../../../src/loader/object.js';
import { processLives } from '../../../src/proc/lives.js';
import type { Reader } from '../../../src/reader.js';
import { commonSettings } from '../../../src/run/common-options.js';
import { BpfTracing, wayInto } from '../../../src/run/tracing.js';
import type { BpfTool } from '../../../src/tool.js';
import { replace, withFiles } from '../loader/replaced.js';

const [attached = assert.fail(), once, probe = assert.fail()] = layout.programs.filter(
	(name) => !name.startsWith('filter_'),
);
const TRAP_NS = 500;

/** The kernel's side: each program has run so often, and taken 1000 ns each time. */
function kernel(t: TestContext, done: string[]) {
	const machine = { runs: 10, fds: [] as number[], deleted: [] as number[] };
	process.env.TSTRACE_BPF_DIR = `dist/bpf/${process.arch}`;
	t.after(() => delete process.env.TSTRACE_BPF_DIR);
	replace(t, libbpf(), {
		bpf_map_update_elem: () => 0,
		bpf_map_delete_elem: (_, key) => {
			machine.deleted.push(new DataView(key.buffer).getUint32(0, true));
			return 0;
		},
		bpf_map_lookup_elem: (_, _key, value) => {
			value.set([2]);
			return 0;
		},
		bpf_obj_get_info_by_fd: (_, info) => {
			const view = new DataView(info.buffer);
			const { run_cnt, run_time_ns } = bpf_prog_info.fields;
			view.setBigUint64(run_cnt.offset, BigInt(machine.runs), true);
			view.setBigUint64(run_time_ns.offset, BigInt(1000 * machine.runs), true);
			return 0;
		},
		bpf_enable_stats: () => {
			const fd = openSync('/dev/null', 'r');
			machine.fds.push(fd);
			return fd;
		},
	});
	const note = (what: string) => (name?: unknown) => {
		done.push(typeof name === 'string' ? `${what} ${name}` : what);
	};
	const { prototype } = BpfObject;
	t.mock.method(prototype, 'load', (names: readonly string[], without?: readonly string[]) => {
		done.push(`load ${[...names].sort().join(' ')} without ${without?.join(' ')}`);
	});
	for (const name of ['attach', 'runIterator', 'detach', 'waitForPrograms', 'close'] as const)
		t.mock.method(prototype, name, note(name));
	return machine;
}

interface Asked {
	readonly reader?: Partial<Reader>;
	readonly pids?: number[];
	readonly isTrial?: boolean;
}

function begun(t: TestContext, done: string[], more: Asked) {
	const note = (what: string) => () => void done.push(what);
	const reader: Reader = {
		begin: note('begin'),
		begun: note('begun'),
		end: note('end'),
		close: note('close reader'),
		read: async () => ({ kind: 'table', about: {}, rows: [] }),
		...more.reader,
	};
	const tables = {
		order: (whole: boolean) => void done.push(`order ${whole}`),
		close: note('close tables'),
	};
	const tool = {
		...{ name: 'runqlat', kind: 'table', layout },
		plan: () => ({
			...{ attach: [attached], load: [probe], runOnce: [once], trap_ns: TRAP_NS },
			...{ withoutMaps: ['hists'], because: 'why', tables },
		}),
		reader: () => reader,
	} as unknown as BpfTool<typeof layout, null, TableFindings>;
	const { filter } = commonSettings({ pid: more.pids ?? [] }, [], 'table');
	const tracing = new BpfTracing(
		tool,
		null,
		{ filter, command: undefined, words: [] },
		{ verbose: false, isTrial: more.isTrial ?? false, note: () => undefined },
	);
	t.after(() => tracing.close());
	return tracing;
}

test('programs are attached when their reader is ready, and read when no run of theirs goes on', (t) => {
	const done: string[] = [];
	const machine = kernel(t, done);
	const tracing = begun(t, done, {});
	const all = [attached, once, probe].sort().join(' ');
	assert.deepEqual(done.splice(0), [
		...['order true', `load ${all} without hists`, 'begin', `attach ${attached}`],
		...[`runIterator ${once}`, 'begun'],
	]);
	tracing.cost.begin();
	tracing.detach();
	assert.deepEqual(done.splice(0), ['end', 'detach', 'waitForPrograms']);
	for (const fd of machine.fds) assert.throws(() => closeSync(fd), /EBADF/);
	tracing.close();
	tracing.close();
	assert.deepEqual(done, ['close reader', 'close tables', 'close']);
});

test('what is only tried reads no tables that a result would need', (t) => {
	const done: string[] = [];
	kernel(t, done);
	begun(t, done, { isTrial: true });
	assert.equal(done[0], 'order false');
});

test('without the privileges a tool does without BPF, if it can', () => {
	const withoutBpf = { because: '', unseen: 'samples', reader: assert.fail };
	const tool = { layout } as unknown as BpfTool<typeof layout, null, TableFindings>;
	const wayWith = (capabilities: string, more: object) =>
		withFiles({ '/proc/self/status': `CapEff:\t${capabilities}\n` }, () =>
			wayInto({ ...tool, ...more }),
		);
	const [all, none] = ['000001ffffffffff', '0000000000000000'];
	assert.equal(wayWith(all, { withoutBpf }).withBpf, true);
	assert.equal(wayWith(none, { withoutBpf }).withBpf, false);
	assert.equal(wayWith(none, { withoutBpf }).unseen, 'samples');
	assert.throws(() => wayWith(none, {}), /needs CAP_BPF and CAP_PERFMON/);
	assert.equal(wayWith(all, { layout: undefined, withoutBpf }).withBpf, false);
});

test('the cost is that of programs that are attached and of probes, with the traps to these', (t) => {
	const machine = kernel(t, []);
	const tracing = begun(t, [], {});
	tracing.cost.begin();
	machine.runs += 100;
	tracing.detach();
	const { programs = assert.fail() } = tracing.cost.estimate(1e9, 0);
	// Two programs, of which one is led to by traps.
	assert.equal((programs.trap_ns / programs.bpf_ns).toFixed(6), (TRAP_NS / 2000).toFixed(6));
});

test('statistics are off again when tracing is closed while they are on', (t) => {
	const machine = kernel(t, []);
	const tracing = begun(t, [], {});
	tracing.cost.begin();
	tracing.close();
	assert.equal(machine.fds.length, 1);
	for (const fd of machine.fds) assert.throws(() => closeSync(fd), /EBADF/);
});

test('what is lost is what programs and the reader lose', (t) => {
	kernel(t, []);
	const tracing = begun(t, [], { reader: { lost: () => ({ chains_cut: 7 }) } });
	const lost = tracing.lost();
	assert.equal(lost.chains_cut, 7);
	assert.equal(lost.stacks_full, 2);
	assert.deepEqual(tracing.lost(), { chains_cut: 7 }, 'since the call before');
});

test('a process that ends while tracing begins is not waited for', (t) => {
	const machine = kernel(t, []);
	const { pid = assert.fail() } = spawn('sleep', ['1000'], { stdio: 'ignore' });
	const begin = () => {
		process.kill(pid, 'SIGKILL');
		while (processLives(pid));
	};
	begun(t, [], { reader: { begin }, pids: [pid, process.pid] });
	assert.deepEqual(machine.deleted, [pid]);
});

test('what fails as tracing begins is the error, and all is closed', (t) => {
	const done: string[] = [];
	kernel(t, done);
	const begin = () => {
		throw new Error('begin');
	};
	assert.throws(() => begun(t, done, { reader: { begin } }), /begin/);
	assert.deepEqual(done.slice(-3), ['close reader', 'close tables', 'close']);
});
