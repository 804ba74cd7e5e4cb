/** Who ended waits, out of the kernel: user space's side of bpf/lib/waits/wakers.h. */
import type { CapturedWaker } from '../aggregate/stack.js';
import { readComm } from '../bpf/comm.js';
import { InterruptNames } from '../bpf/scheduling/interrupts.js';
import type { StackSnapshot } from '../bpf/stacks/stacks.js';
import { off_cpu as layout } from '../generated/off_cpu.js';
import { readU64 } from '../loader/layout.js';
import type { BpfObject } from '../loader/object.js';

const KEY_BYTES = 8;

/** A waker that is no thread and no interrupt. */
function nobody(comm: string): CapturedWaker {
	const none = { pid: 0, tid: 0, kernel: [], user: [], lost: false };
	return { ...none, comm, at_ns: 0, parts: [], count: 0, variance: 0 };
}

/** Of waits that were open at the end. */
export const NOT_WOKEN = nobody('[not woken yet]');
/** Of those that nobody was seen to end. */
export const UNSEEN_WAKER = nobody('[waker not seen]');

/** Of those that there was no room for. */
const LOST_WAKER = nobody('[waker lost]');

/** All that were kept, by their keys, with their stacks. */
export function readWakers(
	object: BpfObject<typeof layout>,
	snapshot: StackSnapshot,
): Map<bigint, CapturedWaker> {
	const wakers = new Map<bigint, CapturedWaker>([
		[BigInt(layout.enums.waker_constant.LOST_WAKER), LOST_WAKER],
	]);
	const interrupts = new InterruptNames();
	const { size, fields } = layout.structs.waker;
	object.map('wakers').readAll((keys, values, count) => {
		for (let i = 0; i < count; i++) {
			const at = i * size;
			const hash = (name: 'kernel' | 'user') => values.getBigUint64(at + fields[name].offset, true);
			const pid = values.getUint32(at + fields.tgid.offset, true);
			const context = values.getUint8(at + fields.context.offset);
			const interrupt = values.getUint8(at + fields.interrupt.offset);
			const irq = values.getUint32(at + fields.irq.offset, true);
			const isThread = values.getUint8(at + fields.by_thread.offset) !== 0;
			wakers.set(keys.getBigUint64(i * KEY_BYTES, true), {
				pid,
				tid: values.getUint32(at + fields.tid.offset, true),
				comm: isThread
					? readComm(values, at + fields.comm.offset)
					: interrupts.text(context, interrupt, irq),
				context: isThread ? { context: 'thread' } : interrupts.fields('', context, interrupt, irq),
				...snapshot.addressesOf(hash('kernel'), hash('user')),
				at_ns: readU64(values, at + fields.first_ns.offset),
				...{ parts: [], count: 0, variance: 0 },
			});
		}
	});
	return wakers;
}
