/** Files that benchmarks write and read: in a folder that goes as we exit. */
import { mkdirSync, rmSync } from 'node:fs';

/** The same in each run: it is part of commands, which are recorded. */
const FOLDER = 'build/bench';

export const scratch = (name: string) => `${FOLDER}/${name}`;

export function openScratch(): void {
	mkdirSync(FOLDER, { recursive: true });
	process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
}
