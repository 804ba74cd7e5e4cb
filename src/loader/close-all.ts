/** Things are released on every way out: all of them, though one of them fails. */

type Closes = Iterable<(() => void) | undefined>;

/** Calls each in turn, though one of them throws; then throws what the first one did. */
export function closeAll(closes: Closes): void {
	const errors: unknown[] = [];
	for (const close of closes) {
		try {
			close?.();
		} catch (error) {
			errors.push(error);
		}
	}
	if (errors.length > 0) throw errors[0];
}

/** The same, where something has failed already: returns that error, which is to be thrown. */
export function closedAfter(error: unknown, closes: Closes): unknown {
	try {
		closeAll(closes);
	} catch {
		// It follows from what came first, as far as anybody can tell.
	}
	return error;
}
