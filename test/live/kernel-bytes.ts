/** How much of the kernel's memory a tracing process holds. */
import { readdirSync } from 'node:fs';
import { release } from 'node:os';
import { textOf } from '../../src/text-of.js';
import { isSince } from '../vm/features.js';

/** bpf_map_ops.map_mem_usage. */
const TELLS_MEMORY_SINCE = '6.4';

/**
 * What the kernel holds for the BPF objects that a process has open: Documentation/filesystems/proc.rst, fdinfo. 0: the
 * kernel says what they could take, and not what they do.
 */
export function kernelBytesOf(pid: number): number {
	const sizes = new Map<string, number>();
	if (!isSince(release(), TELLS_MEMORY_SINCE)) return 0;
	try {
		for (const fd of readdirSync(`/proc/${pid}/fdinfo`)) {
			const text = textOf(`/proc/${pid}/fdinfo/${fd}`) ?? '';
			const [object] = /^(map|prog)_id:.*$/m.exec(text) ?? [];
			if (object) sizes.set(object, Number(/^memlock:\s*(\d+)/m.exec(text)?.[1] ?? 0));
		}
	} catch {
		// It has ended.
	}
	return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}
