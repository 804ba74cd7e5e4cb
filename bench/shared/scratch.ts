/** Files that benchmarks write and read: in a folder that goes as we exit. */
import { mkdirSync, rmSync } from 'node:fs';

/** The same in each run: it is part of commands, which are recorded. */
const FOLDER = 'build/bench';

export const scratch = (name: string) => `${FOLDER}/${name}`;

/** Children that were just killed may still write. */
const close = () => rmSync(FOLDER, { recursive: true, force: true, maxRetries: 20 });

export function openScratch(): void {
	close(); // what a run that was killed has left
	mkdirSync(FOLDER, { recursive: true });
	process.once('exit', close);
}
