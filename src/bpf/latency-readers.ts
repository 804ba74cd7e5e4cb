/** Readers that any latency tool can use: of bpf/lib/histogram.h, and of bpf/lib/groups.h. */

import type { LatencyFindings, LatencyGroup, Lost } from '../aggregate/report.js';
import type { Key } from '../aggregate/row-key.js';
import type { BpfMap } from '../loader/map.js';
import type { Reader } from '../reader.js';
import { type GroupLayouts, Groups, type KernelGroup } from './groups.js';
import { type HistLayout, takeHistogram } from './histogram.js';
import { Window, type WindowedObject } from './window.js';

interface HistogramObject extends WindowedObject {
	readonly layout: { readonly structs: { readonly hist: HistLayout } };
	map(name: 'hists'): BpfMap;
}

/**
 * Reads `hists`, a per-CPU array with a histogram for each kind in each window. With `kinds`, one
 * name for each, kinds are groups of their own; else there is one kind, and one group.
 */
export class HistogramReader implements Reader<LatencyFindings> {
	readonly #window: Window;

	constructor(
		private readonly object: HistogramObject,
		private readonly kindsInMap = 1,
		private readonly kinds?: readonly string[],
	) {
		this.#window = new Window(object);
	}

	async read(): Promise<LatencyFindings> {
		const first = this.#window.swap() * this.kindsInMap;
		if (!this.kinds)
			return { kind: 'latency', groups: [{ key: {}, histogram: this.#take(first) }] };
		const groups: LatencyGroup[] = [];
		for (const [index, kind] of this.kinds.entries()) {
			const histogram = this.#take(first + index);
			if (histogram.count > 0) groups.push({ key: { kind }, histogram });
		}
		return { kind: 'latency', groups };
	}

	#take(index: number) {
		return takeHistogram(this.object.map('hists'), index, this.object.layout.structs.hist);
	}
}

interface GroupsObject extends WindowedObject {
	readonly layout: { readonly structs: GroupLayouts };
	map(name: 'groups_0' | 'groups_1'): BpfMap;
}

/** Reads the groups of both windows; `name` turns what the kernel knows of groups into keys. */
export class GroupReader implements Reader<LatencyFindings> {
	readonly #window: Window;
	readonly #groups: Groups;

	constructor(
		private readonly object: GroupsObject,
		private readonly name: (groups: readonly KernelGroup[]) => Key[],
	) {
		this.#window = new Window(object);
		this.#groups = new Groups(object.layout.structs);
	}

	drain(): void {
		this.#groups.drain(this.object.map(`groups_${this.#window.swap()}`));
	}

	lost(): Lost {
		return this.#groups.takeLost();
	}

	async read(): Promise<LatencyFindings> {
		this.drain();
		const groups = this.#groups.take();
		const keys = this.name(groups);
		return {
			kind: 'latency',
			groups: groups.map(({ histogram }, index) => ({ key: keys[index] ?? {}, histogram })),
		};
	}
}
