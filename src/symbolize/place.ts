import type { MappedFile } from './mapped-file.js';
import type { Frame } from './stack.js';

/** A place in code and what is known of it; one object for all stacks that it is in. */
export class Place {
	/** Why there is no name. */
	lacks: 'symbols' | 'perf-map' | 'mapping' | undefined;

	constructor(
		public frame: Frame,
		/** The file that it lies in. */
		readonly file?: MappedFile,
	) {}
}
