/** Two walks of the same stack, frame by frame. */

interface Comparison {
	/** Of the longer one of the two. */
	readonly frames: number;
	/** From the leaf on; none counts behind the first one that is different. */
	readonly agree: number;
}

/**
 * `most`: frames that are compared, at most. `isBlind`: the oracle knows no way on from code at this
 * address; what it says behind it does not count.
 */
export function compare(
	oracle: ArrayLike<number>,
	walked: ArrayLike<number>,
	most: number,
	isBlind: (address: number) => boolean = () => false,
): Comparison {
	const blind = Array.prototype.findIndex.call(oracle, isBlind);
	const compared = blind < 0 ? most : Math.min(most, blind + 1);
	const frames = Math.min(compared, Math.max(oracle.length, walked.length));
	let agree = 0;
	while (agree < frames && oracle[agree] === walked[agree]) agree++;
	return { frames, agree };
}
