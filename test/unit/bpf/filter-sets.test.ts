/** What a filter tells the programs, and what it takes out of their sets: of an object that the test makes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { type Filter, FilterSets } from '../../../src/bpf/filter.js';
import { compileGlobs } from '../../../src/bpf/glob.js';
import { cgroupId } from '../../../src/proc/cgroup.js';

const EVERYBODY: Filter = {
	...{ pids: [], tids: [], comms: [], cgroups: [], cpus: [] },
	...{ userThreads: false, kernelThreads: false, follow: false },
};
const SETS = ['filter_tgids', 'filter_tids', 'filter_comms', 'filter_cgroups'] as const;
const CPUS_BYTES = 1024;
const ENDED = spawnSync(process.execPath, ['--version']).pid;
const OWN = process.pid;

/** The programs' side: constants, and the sets by name, with keys in hexadecimal. */
class Programs {
	readonly constants: Record<string, unknown> = {};
	readonly bytes: Record<string, DataView> = {};
	readonly sets = new Map<string, Map<string, number>>(SETS.map((name) => [name, new Map()]));
	readonly room: Record<string, number> = {};
	globsSeen = 0n;

	get object() {
		return {
			setConstants: (constants: object) => Object.assign(this.constants, constants),
			constantBytes: (name: string) => {
				this.bytes[name] ??= new DataView(new ArrayBuffer(2 * CPUS_BYTES));
				return this.bytes[name];
			},
			variableBytes: () => new DataView(BigUint64Array.of(this.globsSeen).buffer),
			map: (name: string) => this.#map(name),
		} as never;
	}

	/** Which bytes are not 0. */
	bits(name: string): number[] {
		const { buffer } = this.bytes[name] ?? assert.fail();
		return [...new Uint8Array(buffer)].flatMap((byte, at) =>
			[0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte >> bit) & 1).map((bit) => at * 8 + bit),
		);
	}

	keys(name: string): string[] {
		return [...(this.sets.get(name)?.keys() ?? [])];
	}

	#map(name: string) {
		const set = this.sets.get(name) ?? assert.fail(name);
		const keyOf = (key: Uint8Array) => Buffer.from(key).toString('hex');
		return {
			setMaxEntries: (entries: number) => {
				this.room[name] = entries;
			},
			update: (key: Uint8Array, [value = 0]: Uint8Array) => set.set(keyOf(key), value),
			delete: (key: Uint8Array) => set.delete(keyOf(key)),
			isEmpty: () => set.size === 0,
			readAll: (each: (keys: DataView, values: DataView, count: number) => void) => {
				const keys = Buffer.from([...set.keys()].join(''), 'hex');
				const view = new DataView(keys.buffer, keys.byteOffset, keys.length);
				each(view, new DataView(Uint8Array.from(set.values()).buffer), set.size);
			},
		};
	}
}

/** Configured and filled. */
function filtered(filter: Partial<Filter>, command?: number) {
	const programs = new Programs();
	const sets = new FilterSets(programs.object, { ...EVERYBODY, ...filter }, command);
	const wanted = sets.configure();
	sets.fill();
	return { programs, sets, wanted, constants: programs.constants };
}

const u32 = (value: number) => {
	const key = Buffer.alloc(4);
	key.writeUInt32LE(value);
	return key.toString('hex');
};
const comm = (name: string) => Buffer.concat([Buffer.from(name)], 16).toString('hex');

test('by what programs are to choose: just what was asked for', () => {
	const by = ({ constants }: ReturnType<typeof filtered>) =>
		Object.entries(constants)
			.filter(([name, value]) => name.startsWith('filter_') && value !== false && value !== 0)
			.map(([name, value]) => (value === true ? name : `${name} ${value}`));
	assert.deepEqual(by(filtered({})), []);
	assert.deepEqual(by(filtered({ pids: [OWN] })), ['filter_by_tgid', `filter_only_tgid ${OWN}`]);
	assert.deepEqual(by(filtered({ pids: [OWN], follow: true })), ['filter_by_tgid']);
	assert.deepEqual(by(filtered({ pids: [OWN, 1] })), ['filter_by_tgid']);
	assert.deepEqual(by(filtered({ tids: [OWN] })), ['filter_by_tid']);
	assert.deepEqual(by(filtered({ comms: ['sh'] })), ['filter_by_comm']);
	assert.deepEqual(by(filtered({ comms: ['sh*'] })), ['filter_by_comm', 'filter_by_glob']);
	assert.deepEqual(by(filtered({ cpus: [2] })), ['filter_by_cpu']);
	assert.deepEqual(by(filtered({ userThreads: true })), ['filter_user_threads']);
	assert.deepEqual(by(filtered({ kernelThreads: true })), ['filter_kernel_threads']);
	const command = ['filter_by_tgid', `filter_only_tgid ${OWN}`, `filter_command_tgid ${OWN}`];
	assert.deepEqual(by(filtered({}, OWN)), command);
	// Beside another process it is not the only one.
	assert.deepEqual(by(filtered({ pids: [1] }, OWN)), [
		...['filter_by_tgid', `filter_command_tgid ${OWN}`],
	]);
});

test('which programs keep the sets right', () => {
	assert.deepEqual(filtered({ comms: ['sh'], cpus: [1] }).wanted, []);
	assert.deepEqual(filtered({ pids: [OWN] }).wanted, ['filter_exit']);
	assert.deepEqual(filtered({ tids: [OWN] }).wanted, ['filter_exit']);
	assert.deepEqual(filtered({ pids: [OWN], follow: true }).wanted, ['filter_exit', 'filter_fork']);
	assert.deepEqual(filtered({}, OWN).wanted, ['filter_exit', 'filter_exec']);
});

test('each choice is in the set of its kind; a set that is not used has no room', () => {
	const { programs } = filtered({ pids: [OWN, 1], comms: ['sh', '0123456789abcdef', 'x*'] });
	assert.deepEqual(programs.keys('filter_tgids'), [u32(OWN), u32(1)]);
	assert.deepEqual(programs.keys('filter_tids'), []);
	// The kernel keeps 15 bytes of a name.
	assert.deepEqual(programs.keys('filter_comms'), [comm('sh'), comm('0123456789abcde')]);
	assert.deepEqual(programs.room, { filter_tids: 1, filter_cgroups: 1 });
	assert.deepEqual(filtered({ tids: [OWN] }).programs.keys('filter_tids'), [u32(OWN)]);
	const patterns = filtered({ comms: ['x*'] }).programs;
	assert.deepEqual(patterns.room, {
		...{ filter_tgids: 1, filter_tids: 1, filter_comms: 1, filter_cgroups: 1 },
	});
	const { begins, stays, ends } = compileGlobs(['x*']);
	for (const [table, word] of [['begins', begins] as const, ['stays', stays] as const])
		assert.equal(patterns.bytes[`glob_${table}`]?.getBigUint64(0, true), word, table);
	assert.equal(patterns.bytes.glob_ends?.getBigUint64(0, true), ends[0]);
	assert.equal(patterns.bytes.glob_accepts?.getBigUint64(8 * 0x78, true), begins);
});

test('CPUs are bits, the lowest first', () => {
	const cpus = [0, 7, 8, 63, 64, 8191];
	assert.deepEqual(filtered({ cpus }).programs.bits('filter_cpus'), cpus);
	assert.deepEqual(filtered({}).programs.bits('filter_cpus'), []);
});

test('one control group is a constant, several are a set', (t) => {
	let id: bigint | undefined;
	try {
		id = cgroupId('/');
	} catch {
		t.skip('no cgroup2 is mounted');
		return;
	}
	const one = filtered({ cgroups: ['/'] });
	assert.equal(one.programs.bytes.filter_only_cgroup?.getBigUint64(0, true), id);
	assert.equal(one.constants.filter_by_cgroup, true);
	assert.equal(one.programs.room.filter_cgroups, undefined);
	const several = filtered({ cgroups: ['/', '/'] });
	assert.equal(several.programs.bytes.filter_only_cgroup, undefined);
	const key = Buffer.alloc(8);
	key.writeBigUInt64LE(id);
	assert.deepEqual(several.programs.keys('filter_cgroups'), [key.toString('hex')]);
	const nothing = filtered({}).programs.bytes.filter_only_cgroup;
	assert.equal(nothing?.getBigUint64(0, true), 0n);
});

test('who has ended before the programs could see it is taken out, and nobody else', () => {
	const { programs, sets } = filtered({ pids: [OWN], tids: [OWN] });
	assert.equal(sets.allEnded(), false);
	for (const name of ['filter_tgids', 'filter_tids']) programs.sets.get(name)?.set(u32(ENDED), 1);
	const both = { ...EVERYBODY, pids: [OWN, ENDED], tids: [ENDED, OWN] };
	const late = new FilterSets(programs.object, both, undefined);
	late.dropEnded();
	assert.deepEqual(programs.keys('filter_tgids'), [u32(OWN)]);
	assert.deepEqual(programs.keys('filter_tids'), [u32(OWN)]);
	assert.equal(late.allEnded(), false);
	programs.sets.get('filter_tids')?.clear();
	assert.equal(late.allEnded(), true, 'one kind of which none is left is enough');
	assert.equal(new FilterSets(programs.object, EVERYBODY, undefined).allEnded(), false);
});

test('names and patterns that no thread came by with are told, as they were given', () => {
	const comms = ['sh', 'a*', 'redis', 'b?', 'php*'];
	const { programs, sets } = filtered({ comms });
	assert.deepEqual(sets.unseen(), comms);
	const { ends } = compileGlobs(['a*', 'b?', 'php*']);
	programs.globsSeen = (ends[0] ?? 0n) | (ends[2] ?? 0n);
	assert.deepEqual(sets.unseen(), ['sh', 'redis', 'b?']);
	// bpf/lib/filter.h: FILTER_SEEN.
	programs.sets.get('filter_comms')?.set(comm('redis'), 2);
	assert.deepEqual(sets.unseen(), ['sh', 'b?']);
	assert.deepEqual(filtered({ pids: [OWN] }).sets.unseen(), []);
});
