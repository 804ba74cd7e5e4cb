/** What descriptors are, as programs have told: bpf/lib/trace/files.h. */
import type { WaitObject } from '../../aggregate/wait-object.js';
import { ObjectRecord } from '../../bpf/objects/record.js';
import type { CallRecord } from './record.js';
import type { FileTexts } from './writers.js';

/** Programs remember fewer, and tell again what they forget: see `TOLD_FILES`. */
const MAX_FILES = 65_536;
export const TOLD_FILES = 16_384;
const NOTHING_FOUND = { holders: () => [], inMemory: '', owner: undefined };

interface KnownFile {
	readonly text: string;
	readonly bytes: Uint8Array;
	used: boolean;
}

export class KnownFiles implements FileTexts {
	readonly #files = new Map<number, KnownFile>();

	constructor(private readonly most = MAX_FILES) {}

	/** Takes in a record about a file. */
	add(call: CallRecord): void {
		const view = new DataView(call.bytes.buffer, call.bytes.byteOffset + call.body, call.bodyBytes);
		this.put(call.fileId, fileText(new ObjectRecord(view).decoded(NOTHING_FOUND)));
	}

	put(id: number, text: string): void {
		this.#files.delete(id);
		while (this.#files.size >= this.most) this.#forgetOne();
		this.#files.set(id, { text, bytes: inLine(text), used: false });
	}

	of(id: number): Uint8Array | undefined {
		const known = this.#files.get(id);
		if (known) known.used = true;
		return known?.bytes;
	}

	textOf(id: number): string | undefined {
		return this.#files.get(id)?.text;
	}

	/** The oldest that was not used since it was looked at last. */
	#forgetOne(): void {
		for (const [id, file] of this.#files) {
			this.#files.delete(id);
			if (!file.used) return;
			file.used = false;
			this.#files.set(id, file);
		}
	}
}

/** "/etc/passwd", "pipe:[123]", "tcp:10.0.0.1:80->10.0.0.2:443". */
function fileText(object: WaitObject): string {
	switch (object.type) {
		case 'file':
		case 'device':
			return `${object.path}${object.deleted ? ' (deleted)' : ''}`;
		case 'pipe':
			return object.path || `pipe:[${object.inode}]`;
		case 'unix socket':
			return `unix:${object.path || `[${object.inode}]`}`;
		case 'socket': {
			const { protocol, local, remote } = object;
			return `${protocol}:${remote ? `${local}->${remote}` : local}`;
		}
		case 'event':
			return `anon_inode:${object.name}`;
		default:
			return 'socket';
	}
}

/** In angle brackets, escaped as strings in arguments are. */
function inLine(text: string): Uint8Array {
	const bytes = Buffer.from(text);
	const escaped = [...bytes].map((byte) =>
		byte < 0x20 || byte > 0x7e || byte === 0x5c
			? `\\${byte.toString(8).padStart(3, '0')}`
			: String.fromCharCode(byte),
	);
	return new TextEncoder().encode(`<${escaped.join('')}>`);
}
