/** Reads JSON: results of tstrace, one on each line. */
import type { StackProfile } from '../aggregate/stack-profile.js';
import { TstraceError } from '../loader/errors.js';
import { readLines } from './lines.js';
import type { Reader } from './reader.js';
import { tstraceProfile } from './tstrace-json.js';

/** V8 has no longer strings. */
const MAX_JSON_BYTES = 500 << 20;

export const readJson: Reader = async (chunks) => {
	const profiles: StackProfile[] = [];
	await readLines(
		chunks,
		(bytes, from, to, line) => {
			const text = bytes.toString('utf8', from, to).trim();
			if (text !== '') profiles.push(tstraceProfile(parse(text, line)));
		},
		MAX_JSON_BYTES,
	);
	return profiles;
};

function parse(text: string, line: number): Readonly<Record<string, unknown>> {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
	} catch (error) {
		throw new TstraceError(
			`line ${line} begins like JSON and is none; was it cut off? Record it again`,
			String(error),
		);
	}
	throw new TstraceError(`line ${line} is not a result of tstrace`);
}
