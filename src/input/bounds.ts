/** What bounds the work on strangers' files: a small one can unfold to more than memory holds. */
import { MAX_STACK_FRAMES } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';

/** Frames of all stacks that a file names by number; they take 512 MiB. A large recording has 2^23. */
const MAX_FRAMES = 1 << 27;

/** Counts what stacks unfold to. */
export class FrameBudget {
	readonly #max: number;
	#left: number;

	/** `maxFrames`: of all stacks together. */
	constructor(maxFrames = MAX_FRAMES) {
		this.#max = maxFrames;
		this.#left = maxFrames;
	}

	/** Throws TstraceError for a stack that is too deep, or one too many. */
	take(depth: number): void {
		if (depth > MAX_STACK_FRAMES) {
			throw new TstraceError(
				`a stack has more than ${MAX_STACK_FRAMES} frames, so the file is probably damaged; record it again`,
			);
		}
		this.#left -= depth;
		if (this.#left < 0) {
			throw new TstraceError(
				`its stacks have more than ${this.#max} frames together; record a shorter time`,
			);
		}
	}
}

/** All of it in one piece. Throws TstraceError when it is longer than `maxBytes`. */
export async function readWhole(
	chunks: AsyncIterable<Buffer>,
	maxBytes: number,
	what: string,
): Promise<Buffer> {
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of chunks) {
		bytes += chunk.length;
		if (bytes > maxBytes) {
			throw new TstraceError(
				`it is more than ${maxBytes >> 20} MiB of ${what}; record a shorter time, or give folded stacks`,
			);
		}
		pieces.push(chunk);
	}
	return Buffer.concat(pieces);
}
