import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for something to become true that cannot be awaited, and looks every so often. Gives up after a
 * minute; the error has what was `said`.
 */
export async function until(
	condition: () => boolean,
	said = () => '',
	every_ms = 10,
): Promise<void> {
	for (let tries = 0; !condition(); tries++) {
		if (tries * every_ms > 60_000) throw new Error(`never became true: ${condition} ${said()}`);
		await sleep(every_ms);
	}
}
