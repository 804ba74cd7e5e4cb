/**
 * Stacks as a file for speedscope: https://www.speedscope.app/file-format-schema.json
 * One "sampled" profile, whose samples are the stacks and whose weights are what was counted.
 */

import type { FrameKind } from '../aggregate/stack.js';
import { profileTotal, type StackProfile } from '../aggregate/stack-profile.js';
import { escapedJson } from './json.js';
import { suitableLook } from './picture-look.js';
import { inPieces } from './pieces.js';

const SPEEDSCOPE_SCHEMA = 'https://www.speedscope.app/file-format-schema.json';

/** Units that speedscope has a name for; others are 'none'. */
const SPEEDSCOPE_UNITS: ReadonlyMap<string, string> = new Map([
	['ns', 'nanoseconds'],
	['us', 'microseconds'],
	['ms', 'milliseconds'],
	['s', 'seconds'],
	['bytes', 'bytes'],
]);

/** speedscope has no kinds, but shows a frame's file, and colours frames by it. */
const FILES: Readonly<Record<FrameKind, string | undefined>> = {
	user: undefined,
	kernel: '[kernel]',
	jit: '[jit]',
	inlined: '[inlined]',
	javascript: '[javascript]',
	python: '[python]',
};

/**
 * The file, one line, in pieces. Beside what speedscope reads it has what is known of the recording,
 * as "tstrace". Stacks of which nothing was counted are left out.
 */
export function* renderSpeedscope(profile: StackProfile): Generator<string> {
	const { frames, stacks, origin } = profile;
	const { title } = suitableLook(profile);
	const head = {
		$schema: SPEEDSCOPE_SCHEMA,
		exporter: 'tstrace',
		name: [title, origin.command?.join(' ')].filter(Boolean).join(': '),
		activeProfileIndex: 0,
		tstrace: origin,
	};
	const about = {
		type: 'sampled',
		name: origin.event ?? title,
		unit: SPEEDSCOPE_UNITS.get(origin.unit ?? '') ?? 'none',
		startValue: 0,
		endValue: profileTotal(profile),
	};
	yield `${escapedJson(head).slice(0, -1)},"shared":{"frames":[`;
	yield* list(frames.size, (frame) => {
		const { name, kind } = frames.frame(frame);
		const file = FILES[kind];
		return escapedJson(file === undefined ? { name } : { name, file });
	});
	yield `]},"profiles":[${escapedJson(about).slice(0, -1)},"samples":[`;
	const values = stacks.values();
	yield* list(values.length, (stack) =>
		values[stack] === 0 ? undefined : `[${stacks.frames(stack).join()}]`,
	);
	yield '],"weights":[';
	yield* list(values.length, (stack) => (values[stack] === 0 ? undefined : `${values[stack]}`));
	yield ']}]}\n';
}

/** What `say` says of each number, with commas between; undefined: nothing. */
function list(count: number, say: (each: number) => string | undefined): Generator<string> {
	const texts = function* () {
		let comma = '';
		for (let each = 0; each < count; each++) {
			const text = say(each);
			if (text === undefined) continue;
			yield comma + text;
			comma = ',';
		}
	};
	return inPieces(texts());
}
