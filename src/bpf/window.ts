/** User space's side of bpf/lib/window.h: whose half is being written, and how to swap. */

import type { BpfMap } from '../loader/map.js';

type Half = 0 | 1;

/** Before loading: makes room in both maps, NAME_0 and NAME_1, of what programs write to by halves. */
export function setRoomInHalves<Name extends string>(
	object: { map(name: `${Name}_${Half}`): BpfMap },
	name: Name,
	entries: number,
): void {
	for (const half of [0, 1] as const) object.map(`${name}_${half}`).setMaxEntries(entries);
}

/** An object that includes bpf/lib/window.h. */
export interface WindowedObject {
	setVariable(name: 'window', value: number): void;
	waitForPrograms(): void;
}

export class Window {
	#current: Half = 0;

	constructor(private readonly object: WindowedObject) {}

	/**
	 * Makes programs write to the other half, waits for those that still write to this one, and
	 * returns this one's number: nobody writes to it now. Takes an RCU grace period, some 10 ms.
	 */
	swap(): Half {
		const done = this.#current;
		this.#current = done === 0 ? 1 : 0;
		this.object.setVariable('window', this.#current);
		this.object.waitForPrograms();
		return done;
	}
}
