import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for something to become true that cannot be awaited. Gives up after a minute; the error has what was `said`.
 */
export async function until(condition: () => boolean, said = () => ''): Promise<void> {
	for (let tries = 0; !condition(); tries++) {
		if (tries > 6000) throw new Error(`never became true: ${condition} ${said()}`);
		await sleep(10);
	}
}
