/** A line on stderr that shows how far something is. */
import { isatty } from 'node:tty';
import { say, sayInPlace } from './output.js';

const STDERR = 2;
/** A line that wraps could not be written over. */
const WIDTH = 79;

export class ProgressLine {
	readonly #isTerminal = isatty(STDERR);
	#what = '';

	/** On a terminal it takes the place of what was shown before; elsewhere each `what` is said once. */
	show(what: string, progress: string): void {
		if (this.#isTerminal) sayInPlace(`${progress} ${what}`.trim().slice(0, WIDTH));
		else if (what !== this.#what) say(what);
		this.#what = what;
	}

	/** Leaves an empty line to be written on. */
	clear(): void {
		if (this.#isTerminal && this.#what !== '') sayInPlace('');
		this.#what = '';
	}
}
