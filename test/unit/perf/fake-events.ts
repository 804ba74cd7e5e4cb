/** The kernel's side of perf events: which were asked for, which of them are open and count, and what each has counted. */
import type { TestContext } from 'node:test';
import { perf_event_attr } from '../../../src/generated/uapi.js';
import { libc } from '../../../src/loader/ffi.js';
import type { Count } from '../../../src/perf/count.js';
import { PerfEvent } from '../../../src/perf/open.js';
import { fails } from '../loader/replaced.js';

const FIRST_FD = 1_000_000;

export interface Asked {
	readonly type: number;
	readonly config: number;
	/** The names of the bits that are set. */
	readonly flags: readonly string[];
	readonly pid: number;
	readonly cpu: number;
	/** The descriptor of the group's first event; -1: none. */
	readonly group: number;
	readonly openFlags: number;
	readonly attributes: DataView;
}

export class FakeEvents {
	readonly asked: Asked[] = [];
	/** By descriptor. */
	readonly open = new Map<number, Asked>();
	/** Descriptors, in the order in which they were enabled. */
	readonly enabled: number[] = [];
	/** The numbers of those that were closed, in that order. */
	readonly closed: number[] = [];
	/** Why the kernel refuses what is asked for; undefined: it does not. */
	refuses: (asked: Asked) => string | undefined = () => undefined;
	counts: (asked: Asked) => Count = () => ({ value: 0n, enabled_ns: 0n, running_ns: 0n });

	constructor(t: TestContext) {
		const kernel = this;
		t.mock.method(
			libc(),
			'perf_event_open',
			(_number: number, bytes: Uint8Array, ...rest: [number, number, number, number]) =>
				this.#opened(askedFor(bytes, rest)),
		);
		t.mock.method(PerfEvent.prototype, 'enable', function (this: PerfEvent) {
			kernel.enabled.push(this.fd);
		});
		t.mock.method(PerfEvent.prototype, 'close', function (this: PerfEvent) {
			const asked = kernel.open.get(this.fd);
			if (asked) kernel.closed.push(asked.config);
			kernel.open.delete(this.fd);
		});
		t.mock.method(PerfEvent.prototype, 'count', function (this: PerfEvent) {
			return kernel.counts(kernel.open.get(this.fd) as Asked);
		});
	}

	/** Of the events that are open: their numbers, and where they count. */
	places(): string[] {
		return [...this.open.values()].map(({ config, pid, cpu }) => `${config} of ${pid} on ${cpu}`);
	}

	#opened(asked: Asked): number {
		this.asked.push(asked);
		const errno = this.refuses(asked);
		if (errno !== undefined) return fails(errno);
		const fd = FIRST_FD + this.asked.length;
		this.open.set(fd, asked);
		return fd;
	}
}

function askedFor(bytes: Uint8Array, [pid, cpu, group, openFlags]: number[]): Asked {
	const attributes = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const { fields } = perf_event_attr;
	const flags = Object.entries(fields).flatMap(([name, field]) => {
		if (!('bit' in field)) return [];
		const byte = attributes.getUint8(field.offset + (field.bit >> 3));
		return (byte >> (field.bit & 7)) & 1 ? [name] : [];
	});
	return {
		type: attributes.getUint32(fields.type.offset, true),
		config: Number(attributes.getBigUint64(fields.config.offset, true)),
		flags,
		...{ pid: pid ?? 0, cpu: cpu ?? 0, group: group ?? 0, openFlags: openFlags ?? 0 },
		attributes,
	};
}
