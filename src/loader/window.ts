/** User space's side of bpf/lib/window.h: whose half is being written, and how to swap. */

/** An object that includes bpf/lib/window.h. */
export interface WindowedObject {
	setVariable(name: 'window', value: number): void;
	waitForPrograms(): void;
}

export class Window {
	#current = 0;

	constructor(private readonly object: WindowedObject) {}

	/**
	 * Makes programs write to the other half, waits for those that still write to this one, and
	 * returns this one's number: nobody writes to it now. Takes an RCU grace period, some 10 ms.
	 */
	swap(): 0 | 1 {
		const done = this.#current as 0 | 1;
		this.#current = 1 - done;
		this.object.setVariable('window', this.#current);
		this.object.waitForPrograms();
		return done;
	}
}
