import type { Frame } from '../aggregate/stack.js';
import type { MappedFile } from './mappings/mapped-file.js';

/** A place in code and what is known of it; one object for all stacks that it is in. */
export class Place {
	/** Why there is no name; 'perf-map-line': there is a perf map, and it says nothing of this place. */
	lacks: 'symbols' | 'perf-map' | 'perf-map-line' | 'mapping' | undefined;

	constructor(
		public frame: Frame,
		/** The file that it lies in. */
		readonly file?: MappedFile,
	) {}
}
