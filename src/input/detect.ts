/** What a file is, by its beginning. */
import { TstraceError } from '../loader/errors.js';
import { readFolded } from './folded.js';
import { readJson } from './json.js';
import { parseHeader } from './perf-header.js';
import { readPerfScript } from './perf-script.js';
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
	return isPerfScript(text) ? readPerfScript : readFolded;
}

/** Some line begins a sample and says so, or is a frame; folded stacks end with a count instead. */
function isPerfScript(text: string): boolean {
	return PERF_HEADER.test(text) || text.split('\n').some(isOfPerfScript);
}

function isOfPerfScript(line: string): boolean {
	if (line.startsWith('#')) return false;
	if (FRAME.test(line)) return true;
	const header = parseHeader(line);
	return header?.certain === true && (header.event !== undefined || !ENDS_WITH_COUNT.test(line));
}

/** What perf script --header begins with. */
const PERF_HEADER = /^# =+\n#/;
/** "\t  152623 memcmp+0x303 (/usr/lib/libc.so.6)"; what is in between is left to the reader. */
const FRAME = /^(?:\t\s*|\s+)[0-9a-f]{1,16}(?:\s|$)/;
const ENDS_WITH_COUNT = /\s\d+\s*$/;
