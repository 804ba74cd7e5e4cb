/** What a file is, by its beginning. */
import { TstraceError } from '../loader/errors.js';
import { readFolded } from './folded.js';
import { readJson } from './json.js';
import { isPprof, readPprof } from './pprof.js';
import type { Reader } from './reader.js';

const PERF_DATA = 'PERFILE2';

/** The reader for content that begins so. Throws TstraceError where there is none. */
export function formatOf(beginning: Buffer): Reader {
	if (beginning.toString('latin1', 0, PERF_DATA.length) === PERF_DATA) {
		throw new TstraceError('this is a recording of perf; give what perf script -i FILE prints');
	}
	if (isPprof(beginning)) return readPprof;
	if (beginning.includes(0)) {
		throw new TstraceError(
			'it is not text; give folded stacks, perf script text, a result of tstrace, pprof or speedscope',
		);
	}
	const text = beginning.toString('latin1').trimStart();
	if (text.startsWith('{')) return readJson;
	return readFolded;
}
