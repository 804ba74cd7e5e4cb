/** offwaketime: where threads are blocked, and who wakes them where. */
import { waitFrames } from '../aggregate/summary-frames.js';
import { BLOCKED } from '../aggregate/wait-parts.js';
import { requireRingBuffer } from '../loader/realtime.js';
import { wholeNumber } from '../options/parsers.js';
import { parsedOr, type ValuesOf } from '../options/typed-option.js';
import { stackText } from '../render/stack-text.js';
import { defineTool } from '../tool.js';
import { blockedTime } from '../waits/blocked.js';
import { blockedForText, kindAndObject } from '../waits/label.js';
import { withKinds } from '../waits/objects/objects.js';

const MOST_HOPS = 16;
const options = () => ({
	...blockedTime.options(),
	hops: parsedOr(
		'--hops <n>',
		'follow up to N wakers: what each did meanwhile, and who woke it',
		wholeNumber(MOST_HOPS),
		1,
	),
});

export const offwaketime = defineTool({
	...blockedTime,
	name: 'offwaketime',
	summary: 'where threads are blocked, and who wakes them (both stacks)',
	options,
	settings({ hops, ...values }: ValuesOf<ReturnType<typeof options>>) {
		if (hops > 1) requireRingBuffer('--hops', 'offwaketime without it');
		return { ...blockedTime.settings(values), followed: hops - 1 };
	},
	description:
		'Shows the stacks where threads were blocked, for how long, and the stack of whoever woke them: ' +
		'a thread, or an interrupt (disk, network, timer).',
	examples: [
		['tstrace offwaketime -p 1234 5', 'a process, for 5 seconds'],
		['tstrace offwaketime -p 1234 -o out.svg 5', 'a flame graph of both stacks'],
		['tstrace offwaketime -p 1234 --hops 4 5', 'what the wakers waited for, and who woke them'],
		['tstrace offwaketime --min 10ms 10', 'long waits only, of the whole machine'],
	],
	stackTool: {
		use: 'to draw',
		title: 'Off-Wake Time Flame Graph',
		palette: 'io',
		pprofType: 'blocked',
		// As bcc's offwaketime has it.
		folded: { unit: 'us', divisor: 1000 },
	},

	text(settings) {
		const text = stackText(settings, {
			verb: 'blocked',
			blockedFor: (waker) => (settings.kernel ? blockedForText(waker) : ''),
			label: (row, room) => (settings.kernel ? kindAndObject(row, [BLOCKED], room) : { text: '' }),
			telling: ({ frames }) => waitFrames(frames),
		});
		return {
			none: 'no waits were seen',
			...text,
			shown(findings, json) {
				const shown = text.shown(findings, json);
				return json && settings.kernel ? withKinds(shown) : shown;
			},
		};
	},
});
