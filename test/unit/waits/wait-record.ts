/** Waits as programs record them. */
import { off_cpu as layout } from '../../../src/generated/off_cpu.js';

const { fields, size } = layout.structs.wait_record;

type Field = Exclude<keyof typeof fields, 'key'>;

/** A record; the kernel's side of its key is the number of a stack. */
export function recordOf(values: Partial<Record<Field, number>>, stack = 0): Uint8Array {
	const view = new DataView(new ArrayBuffer(size));
	for (const [name, value] of Object.entries(values)) {
		const { offset, size: bytes } = fields[name as Field];
		if (bytes === 8) view.setBigUint64(offset, BigInt(value), true);
		else if (bytes === 4) view.setUint32(offset, value, true);
		else view.setUint8(offset, value);
	}
	view.setUint32(fields.key.offset, stack, true);
	return new Uint8Array(view.buffer);
}
