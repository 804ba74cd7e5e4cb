/** Unwind tables that programs ask for while they walk: each counts from the moment it has come. */
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { test } from 'node:test';
import type { CapturedStack } from '../../src/aggregate/stack.js';
import type { StackSettings } from '../../src/bpf/stacks/stacks.js';
import { StackSums } from '../../src/bpf/stacks/sums.js';
import { UnwindMaps } from '../../src/bpf/unwind/tables.js';
import { FileBytes } from '../../src/elf/bytes.js';
import { profile } from '../../src/generated/profile.js';
import { u32Key } from '../../src/loader/map.js';
import { BpfObject } from '../../src/loader/object.js';
import { eventOf } from '../../src/perf/names.js';
import { runOnOverflow } from '../../src/perf/programs.js';
import { packed } from '../../src/unwind/packed-table.js';
import { RuleSet } from '../../src/unwind/rule.js';
import { unwindTable } from '../../src/unwind/table.js';
import { needs, until, Workload } from './support.js';

const CPU = 0;
const SAMPLING = { ...eventOf('cpu-clock'), frequency_hz: 997 };
const SETTINGS: StackSettings = {
	...{ maxStacks: 1024, maxDepth: 127 },
	...{ kernel: false, user: true, byThread: false, unwind: 'tables' },
};

/** Who gives tables, by whom no round begins: what programs remember counts as long as they see fit. */
class Giver {
	readonly #object = new BpfObject(`dist/bpf/${process.arch}/profile.bpf.o`, profile);
	readonly #maps = new UnwindMaps(this.#object);
	readonly #sums = new StackSums(this.#object);
	readonly #rules = new RuleSet(profile.enums.unwind_constant.UNWIND_MAX_RULES);

	constructor(pid: number) {
		this.#sums.configure(SETTINGS);
		this.#object.setConstants({ filter_by_tgid: true });
		this.#object.load(['profile_sample']);
		this.#maps.open();
		this.#sums.open();
		this.#object.map('filter_tgids').update(u32Key(pid), new Uint8Array([1]));
	}

	/** Begins to sample; gives what ends it. */
	sample(): { close(): void } {
		return runOnOverflow(SAMPLING, this.#object.program('profile_sample'), [CPU]);
	}

	/** Gives each table that was asked for; returns how many these are. */
	give(): number {
		const requests = this.#maps.requests();
		for (const request of requests) {
			const { pid, start, end } = request;
			const fd = openSync(`/proc/${pid}/map_files/${start.toString(16)}-${end.toString(16)}`, 'r');
			const table = packed(unwindTable(new FileBytes(fd, fstatSync(fd).size)), this.#rules, 0);
			closeSync(fd);
			this.#maps.addRules(table);
			this.#maps.put(request, table);
		}
		return requests.length;
	}

	/** That many samples, or some more, whose walks have begun after the call. */
	async walked(count: number): Promise<CapturedStack[]> {
		const from = async (least: number) => {
			const found: CapturedStack[] = [];
			await until(() => {
				found.push(...this.#sums.take(this.#sums.read(), { parts: 1, period_ns: 0 }));
				return found.reduce((sum, stack) => sum + stack.count, 0) >= least;
			});
			return found;
		};
		this.#sums.take(this.#sums.read(), { parts: 1, period_ns: 0 });
		// The first one may have begun before.
		await from(1);
		return from(count);
	}

	close(): void {
		this.#sums.close();
		this.#maps.close();
		this.#object.close();
	}
}

const lacking = (stacks: readonly CapturedStack[]) =>
	stacks.filter(({ userEnd }) => userEnd === 'no table');

test('a walk is cut only in files whose tables have not come', needs('a ring buffer'), async () => {
	// All that it runs is its own file and the C library, on one CPU; and it maps nothing more.
	const hog = await Workload.start('hog', `${CPU}`);
	const giver = new Giver(hog.pid);
	const sampling = giver.sample();
	try {
		let cut = lacking(await giver.walked(1));
		assert.ok(cut.length > 0, 'its own file was not met before');
		let given = giver.give();
		assert.ok(given > 0, 'the table of a file that is met is asked for');
		while (given > 0) {
			cut = lacking(await giver.walked(20));
			given = giver.give();
		}
		assert.deepEqual(cut, [], 'nothing more is asked for');
	} finally {
		sampling.close();
		giver.close();
		await hog.end();
	}
});
