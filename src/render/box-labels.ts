/** Names in boxes: as much of them as there is room for. Needs nothing of node: pictures in a browser cut names too. */

/** So that two names side by side do not read as one. */
export const NAME_MARGIN_PX = 3;
const CUT = '…';

/** The name; or where it is too long its beginning and "…"; '' where there is no room for that either. */
export function fittingName(
	name: string,
	room_px: number,
	width_px: (character: string) => number,
): string {
	const cut_px = width_px(CUT);
	let used_px = 0;
	/** As much as there is room for with "…" behind it. */
	let beginning = 0;
	let at = 0;
	for (const character of name) {
		used_px += width_px(character);
		if (used_px > room_px) return beginning === 0 ? '' : name.slice(0, beginning) + CUT;
		at += character.length;
		if (used_px + cut_px <= room_px) beginning = at;
	}
	return name;
}

/** The width of the widest character of 12 px, in the fonts that pictures are drawn with. */
export function likelyWidth_px(character: string): number {
	if (/^[\sIfijlrt.,:;'|!()[\]{}/\\`-]$/.test(character)) return 5;
	return /^[mwMW@%\u2000-\u{10ffff}]$/u.test(character) ? 12 : 8;
}
