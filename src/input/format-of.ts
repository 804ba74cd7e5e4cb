/** What a file is, by its beginning. */
import { TstraceError } from '../errors.js';
import { readFolded } from './folded.js';
import type { FormatReader } from './format-reader.js';
import { readJson } from './json-files.js';
import { parseHeader } from './perf-header.js';
import { readPerfScript } from './perf-script.js';
import { isPprof, readPprof } from './pprof.js';

const PERF_DATA = 'PERFILE2';

/** The reader for content that begins so. Throws TstraceError where there is none. */
export function formatOf(beginning: Buffer): FormatReader {
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
	if (MARKUP.test(text)) {
		throw new TstraceError(
			'this is already a picture or a page; give the recording it was made from',
		);
	}
	if (OBJECT.test(text)) return readJson;
	return isPerfScript(text) ? readPerfScript : readFolded;
}

/** More lines begin samples, or are frames, than end with a count, as folded stacks do. */
function isPerfScript(text: string): boolean {
	if (PERF_HEADER.test(text)) return true;
	const lines = text.slice(0, MAX_LOOKED_AT).split('\n');
	const ofPerf = lines.filter(isOfPerfScript).length;
	return ofPerf > lines.filter((line) => COUNT.test(line) && !isOfPerfScript(line)).length;
}

function isOfPerfScript(line: string): boolean {
	if (line.startsWith('#')) return false;
	const frame = FRAME.exec(line);
	if (frame && (frame[1] || line.trimEnd().endsWith(')'))) return true;
	return parseHeader(line)?.certain === true && (TIME.test(line) || !COUNT.test(line));
}

const MARKUP = /^<(\?xml|!doctype|svg|html)[\s>]/i;
/** PHP's folded stacks begin with {main}. */
const OBJECT = /^\{\s*("|\}|$)/;
/** Samples of the deepest stacks are shorter. */
const MAX_LOOKED_AT = 1 << 16;
/** What perf script --header begins with. */
const PERF_HEADER = /^# =+\n#/;
/** "\t  152623 memcmp+0x303 (/usr/lib/libc.so.6)"; where there is no tab, the module has to tell. */
const FRAME = /^(?:(\t)| )\s*[0-9a-f]{1,16}(?:\s|$)/;
const TIME = /\s\d+\.\d+:\s/;
const COUNT = /\s\d+\s*$/;
