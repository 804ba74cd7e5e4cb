/** What programs of an object lose, loaded without their tool: with tables that are small, or full, or as a test sets them. */
import assert from 'node:assert/strict';
import { indexesOf } from '../../src/bpf/calls/calls.js';
import { Losses } from '../../src/bpf/loss.js';
import type { ObjectLayout } from '../../src/loader/layout.js';
import { possibleCpus, u32Key } from '../../src/loader/map.js';
import { BpfObject } from '../../src/loader/object.js';

interface Part<L extends ObjectLayout> {
	readonly programs: readonly L['programs'][number][];
	readonly constants?: Parameters<BpfObject<L>['setConstants']>[0];
	readonly room?: Readonly<Record<string, number>>;
	/** Of these the room is taken already. */
	readonly full?: readonly string[];
	/** Of the programs, those that are only loaded: the test runs them itself. */
	readonly loadedOnly?: readonly L['programs'][number][];
	/** Before loading, what constants cannot say. */
	readonly configure?: (object: BpfObject<L>) => void;
	/** Before attaching. */
	readonly prepare?: (object: BpfObject<L>) => void;
}

/** Attaches programs of an object for some processes; what is lost while `happens`. */
export async function lostWhile<L extends ObjectLayout>(
	[name, layout]: readonly [name: string, layout: L],
	{ programs, constants, room = {}, full = [], loadedOnly = [], configure, prepare }: Part<L>,
	pids: readonly number[],
	happens: (object: BpfObject<L>) => Promise<unknown>,
	look?: (object: BpfObject<L>, lost: Readonly<Record<string, number>>) => void,
): Promise<Readonly<Record<string, number>>> {
	const object = new BpfObject(`dist/bpf/${process.arch}/${name}.bpf.o`, layout);
	try {
		for (const [map, entries] of Object.entries(room)) object.map(map).setMaxEntries(entries);
		object.setConstants({ filter_by_tgid: true, ...constants } as never);
		configure?.(object);
		object.load([...programs, ...loadedOnly]);
		for (const set of ['filter_tgids', 'filter_tids'])
			for (const pid of pids) object.map(set).update(u32Key(pid), new Uint8Array([1]));
		for (const each of full) {
			const map = object.map(each);
			map.update(new Uint8Array(map.keySize), new Uint8Array(map.valueSize));
		}
		prepare?.(object);
		const losses = new Losses(object as never, () => 0);
		assert.deepEqual(losses.read(), {});
		for (const each of programs) object.attach(each);
		await happens(object);
		const lost = losses.read();
		look?.(object, lost);
		return lost;
	} finally {
		object.close();
	}
}

/** Takes a CPU's first place for walked stacks, as a run does that was interrupted; on all CPUs. */
export function takeScratch<L extends ObjectLayout>(object: BpfObject<L>): void {
	const scratch = object.map('scratch');
	const values = new BigUint64Array((scratch.perCpuStride * possibleCpus()) / 8);
	for (let cpu = 0; cpu < possibleCpus(); cpu++) values[(cpu * scratch.perCpuStride) / 8] = 1n;
	scratch.update(u32Key(0), new Uint8Array(values.buffer));
}

/** Has only calls of this name counted. */
export function wantCalls<L extends ObjectLayout>(object: BpfObject<L>, name: string): void {
	const wanted = object.constantBytes('wanted_calls' as never);
	for (const index of indexesOf(name)) {
		const at = Math.floor(index / 64) * 8;
		wanted.setBigUint64(at, wanted.getBigUint64(at, true) | (1n << BigInt(index % 64)), true);
	}
}
