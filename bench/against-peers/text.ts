/** Figures for a terminal of 80 columns. Pure. */
import type { FigureResult, RatioResult } from '../experiments/results.js';
import { formatSpread } from '../shared/statistics.js';

const RATIO_DIGITS = 3;

/** "0.122 (0.118 – 0.126) × NAME, asked ≤ 0.65" */
export function formatRatio(ratio: RatioResult): string {
	const asked = ratio.asked === undefined ? '' : `, asked ≤ ${ratio.asked}${missed(ratio)}`;
	return `${formatSpread(ratio, RATIO_DIGITS)} × ${ratio.to}${asked}`;
}

function missed({ asked, median }: RatioResult): string {
	return asked !== undefined && median > asked ? ': MISSED' : '';
}

export function renderFigure({
	figure,
	unit,
	digits,
	sides,
	ratios,
	rounds,
}: FigureResult): string {
	const width = Math.max(...sides.map(({ name }) => name.length));
	const runs = rounds === 1 ? 'one run' : `median (least – most) of ${rounds}`;
	const lines = [`${unit ? `${figure}, ${unit}` : figure}: ${runs}`];
	for (const side of sides) {
		lines.push(`  ${side.name.padEnd(width)}  ${formatSpread(side, digits)}`);
		for (const ratio of ratios.filter(({ of }) => of === side.name)) {
			lines.push(`    ${formatRatio(ratio)}`);
		}
	}
	return `${lines.join('\n')}\n`;
}
