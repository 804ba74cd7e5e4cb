/** Numbers as text. Needs nothing of node: pages in a browser format theirs with it too. */

/** 1234567 → "1,234,567". */
export function grouped(value: number): string {
	return Math.round(value)
		.toString()
		.replace(/\B(?=(\d{3})+$)/g, ',');
}
