/** An object of BPF programs without any: what is in its maps, and what is told to programs. */
import { closeSync, openSync } from 'node:fs';
import type { TestContext } from 'node:test';

type Raw = Readonly<Record<string, unknown>>;

export type Elements = readonly [keys: DataView, values: DataView, count: number];
const NONE: Elements = [new DataView(new ArrayBuffer(0)), new DataView(new ArrayBuffer(0)), 0];

/** The kernel's side: maps by name, and what is written to constants, variables and sizes. */
export class Kernel {
	readonly maps = new Map<string, Elements>();
	readonly told: Record<string, unknown> = {};
	readonly room: Record<string, number> = {};
	readonly constants: Record<string, DataView> = {};
	readonly variables: Record<string, number> = {};
	readonly #fd: number;

	constructor(
		t: TestContext,
		private readonly layout: object,
	) {
		this.#fd = openSync('/dev/zero', 'r+');
		t.after(() => closeSync(this.#fd));
	}

	get object() {
		const tell = (values: Raw) => Object.assign(this.told, values);
		return {
			layout: this.layout,
			setConstants: tell,
			setVariable: (name: string, value: unknown) => tell({ [name]: value }),
			constantBytes: (name: string) => {
				this.constants[name] ??= new DataView(new ArrayBuffer(8192));
				return this.constants[name];
			},
			variableBytes: (name: string) =>
				new DataView(BigUint64Array.of(BigInt(this.variables[name] ?? 0)).buffer),
			runIterator: () => new DataView(new ArrayBuffer(0)),
			runIteratorAside: async () => ({ written: new DataView(new ArrayBuffer(0)), whole: true }),
			waitForPrograms: () => undefined,
			map: (name: string) => this.#map(name),
		} as never;
	}

	#map(name: string) {
		const hand = (each: (...elements: Elements) => void) => each(...(this.maps.get(name) ?? NONE));
		return {
			...{ fd: this.#fd, maxEntries: 1, keySize: 64, valueSize: 64, perCpuStride: 8 },
			...{ readAll: hand, drain: hand, update: () => undefined, push: () => undefined },
			setMaxEntries: (entries: number) => {
				this.room[name] = entries;
			},
			setGrowing: () => undefined,
			lookup: () => undefined,
			lookupPerCpu: () => undefined,
		};
	}
}
