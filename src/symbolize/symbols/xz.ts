/** Unpacks .xz (XZ Embedded in WebAssembly), to a bounded size. */
import { SymbolError } from '../../elf/bytes.js';

/** Throws SymbolError when it is malformed, or unpacks to more than `limit_bytes`. */
export async function unpackXz(packed: Uint8Array, limit_bytes: number): Promise<Buffer> {
	const { XzReadableStream } = (await import('xz-decompress')).default;
	const whole = new ReadableStream<Uint8Array>({
		start(controller) {
			controller.enqueue(packed);
			controller.close();
		},
	});
	const parts: Uint8Array[] = [];
	let size = 0;
	const reader = new XzReadableStream(whole).getReader();
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return Buffer.concat(parts, size);
			size += value.byteLength;
			if (size > limit_bytes) throw new SymbolError('it is too large when unpacked');
			parts.push(value);
		}
	} catch (error) {
		if (error instanceof SymbolError) await reader.cancel().catch(() => {});
		throw new SymbolError(`cannot be unpacked: ${error instanceof Error ? error.message : error}`);
	}
}
