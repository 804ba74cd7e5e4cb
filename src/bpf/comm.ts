/** Names of threads in what programs of BPF have written. */

/** A thread's name out of a structure: at most 16 bytes, ending at the first zero. */
export function readComm(view: DataView, offset: number): string {
	const bytes = Buffer.from(view.buffer, view.byteOffset + offset, 16);
	const end = bytes.indexOf(0);
	return bytes.toString('utf8', 0, end < 0 ? 16 : end);
}
