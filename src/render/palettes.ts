/** Colours of boxes: the same name has the same colour in every run. */
import type { Frame, FrameKind } from '../aggregate/stack.js';

export const PALETTES = ['hot', 'io', 'mem', 'kind'] as const;
export type PaletteName = (typeof PALETTES)[number];

/** A range of colours: red, green and blue, each from the first to the last. */
type ColourRange = readonly [low: readonly number[], high: readonly number[]];

/** flamegraph.pl's, a little lighter, so that black on them is easy to read. */
const HOT: ColourRange = [
	[210, 70, 40],
	[255, 220, 70],
];
const IO: ColourRange = [
	[110, 130, 200],
	[160, 190, 250],
];
const MEM: ColourRange = [
	[70, 185, 90],
	[130, 235, 190],
];
const KINDS: Readonly<Record<FrameKind, ColourRange>> = {
	user: [
		[225, 80, 70],
		[255, 140, 110],
	],
	kernel: [
		[235, 150, 40],
		[255, 185, 90],
	],
	jit: [
		[100, 195, 85],
		[150, 235, 120],
	],
	inlined: [
		[80, 190, 190],
		[130, 225, 225],
	],
	// Yellow and blue, as their signs are.
	javascript: [
		[238, 200, 50],
		[252, 236, 120],
	],
	python: [
		[95, 150, 210],
		[150, 195, 245],
	],
};
/** The box of all stacks. */
export const ROOT_COLOUR = '#d8d8d8';

/** A frame's colour as CSS has it. */
export function colourOf({ name, kind }: Frame, palette: PaletteName): string {
	const [low, high] = { hot: HOT, io: IO, mem: MEM, kind: KINDS[kind] }[palette];
	// Red and blue move together with the shade; green on its own gives the hues.
	const [shade, hue] = hashes(name);
	const channel = (index: number, share: number) => {
		const from = low[index] as number;
		return Math.round(from + share * ((high[index] as number) - from));
	};
	return hex([channel(0, shade), channel(1, hue), channel(2, shade)]);
}

/** '#rrggbb' of three numbers from 0 to 255. */
export function hex(channels: readonly number[]): string {
	return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** Two numbers from 0 to 1 that look random. FNV-1a, then MurmurHash3's finalizer. */
function hashes(name: string): [number, number] {
	let hash = 0x811c9dc5;
	for (let i = 0; i < name.length; i++) {
		hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
	}
	hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
	hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
	hash ^= hash >>> 16;
	return [((hash >>> 16) & 0xffff) / 0xffff, (hash & 0xffff) / 0xffff];
}
