/** Lines of a stream, as bytes: nothing is longer in memory than a chunk and one line. */
import { TstraceError } from '../errors.js';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** A stack of 5,000 names of 10,000 characters fits. */
const MAX_LINE_BYTES = 64 << 20;

/** Called with the bytes from `from` to `to`, without the line's end; `number` counts from 1. */
type LineReader = (bytes: Buffer, from: number, to: number, number: number) => void;

/** Hands over each line. Throws TstraceError when one is longer than `maxBytes`. */
export async function readLines(
	chunks: AsyncIterable<Buffer>,
	onLine: LineReader,
	maxBytes = MAX_LINE_BYTES,
): Promise<void> {
	let number = 0;
	const line = (bytes: Buffer, from: number, to: number): void => {
		number++;
		onLine(bytes, from, bytes[to - 1] === CARRIAGE_RETURN && to > from ? to - 1 : to, number);
	};
	/** The beginning of a line that the chunks so far did not end. */
	let begun: Buffer[] = [];
	let begunBytes = 0;
	for await (const chunk of chunks) {
		let from = 0;
		for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
			if (begunBytes > 0) {
				begun.push(chunk.subarray(0, end));
				const whole = Buffer.concat(begun);
				line(whole, 0, whole.length);
				begun = [];
				begunBytes = 0;
			} else {
				line(chunk, from, end);
			}
			from = end + 1;
		}
		if (from === chunk.length) continue;
		begun.push(Buffer.from(chunk.subarray(from)));
		begunBytes += chunk.length - from;
		if (begunBytes > maxBytes) {
			throw new TstraceError(
				`line ${number + 1} is longer than ${maxBytes >> 20} MiB, so this is not text of stacks; ` +
					'give folded stacks, perf script text, or a result of tstrace',
			);
		}
	}
	if (begunBytes > 0) {
		const whole = Buffer.concat(begun);
		line(whole, 0, whole.length);
	}
}
