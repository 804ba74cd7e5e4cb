/** Builds the program of this folder with Debian's Go, in the ways that there are. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';

const OUT = resolve('build/golang');
const SOURCE = 'test/golang';

export interface Build {
	readonly name: string;
	readonly flags?: readonly string[];
	/** The program calls C, and C calls it: linked by gcc, with what C needs. */
	readonly hasC?: boolean;
	readonly arch?: 'arm64' | 'amd64';
}

const STRIPPED = ['-ldflags=-s -w'];
const ANYWHERE = ['-buildmode=pie'];

/** Those that can run here; each is there with all symbols, and stripped. */
export const BUILDS: readonly (Build & { readonly isStripped: boolean })[] = [
	{ name: 'plain', isStripped: false },
	{ name: 'stripped', flags: STRIPPED, isStripped: true },
	{ name: 'pie', flags: ANYWHERE, isStripped: false },
	{ name: 'pie-stripped', flags: [...ANYWHERE, ...STRIPPED], isStripped: true },
	{ name: 'c', hasC: true, isStripped: false },
	{ name: 'c-stripped', hasC: true, flags: STRIPPED, isStripped: true },
	{ name: 'c-pie', hasC: true, flags: ANYWHERE, isStripped: false },
	{ name: 'c-pie-stripped', hasC: true, flags: [...ANYWHERE, ...STRIPPED], isStripped: true },
];

/** For the other kind of processor, to be read only. */
export const ARM64: Build = { name: 'arm64', arch: 'arm64' };

/** Where the program is. */
export function built({ name, flags = [], hasC = false, arch }: Build): string {
	mkdirSync(OUT, { recursive: true });
	const out = resolve(OUT, name);
	const env = {
		...process.env,
		GOCACHE: resolve(OUT, 'cache'),
		CGO_ENABLED: hasC ? '1' : '0',
		...(arch ? { GOARCH: arch } : {}),
	};
	execFileSync('go', ['build', ...flags, '-o', out, '.'], { cwd: SOURCE, env, stdio: 'inherit' });
	return out;
}
