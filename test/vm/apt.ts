/** Debian packages of any release and architecture, fetched by name through an apt of our own. */
import { execFileSync } from 'node:child_process';
import {
	existsSync,
	mkdirSync,
	readdirSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

const CACHE = resolve('build/vm/apt');
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** Indexes older than this are fetched again, so that "the newest" stays so. */
const INDEX_AGE_MS = 7 * 24 * 3600 * 1000;
const TIMEOUT_MS = 20 * 60 * 1000;
/** It waits for another apt. */
const APT_GET = resolve('scripts/apt-get.sh');

export type Architecture = 'amd64' | 'arm64';

/** A release of Debian, as apt.conf and sources.list describe it; nothing of the system's is touched. */
export class Suite {
	readonly #config: string;
	readonly #folder: string;

	/** `names`: "bookworm", "bullseye-security"; the newest version in any of them is taken. */
	constructor(
		private readonly names: readonly string[],
		architecture: Architecture,
	) {
		this.#folder = join(CACHE, `${names[0]}-${architecture}`);
		this.#config = join(this.#folder, 'apt.conf');
		for (const path of ['lists/partial', 'archives/partial', 'debs', 'roots'])
			mkdirSync(join(this.#folder, path), { recursive: true });
		writeFileSync(join(this.#folder, 'status'), '');
		writeFileSync(
			this.#config,
			[
				`APT::Architecture "${architecture}";`,
				`APT::Architectures "${architecture}";`,
				`Dir::State "${this.#folder}";`,
				`Dir::State::status "${this.#folder}/status";`,
				`Dir::Cache "${this.#folder}";`,
				`Dir::Etc::sourcelist "${this.#folder}/sources.list";`,
				'Dir::Etc::sourceparts "/dev/null";',
				'Dir::Etc::preferencesparts "/dev/null";',
				'APT::Sandbox::User "root";',
				'APT::Install-Recommends "false";',
				'Acquire::Languages "none";',
				// apt takes nothing from there unless it is told to.
				...(names[0]?.endsWith('-backports') ? [`APT::Default-Release "${names[0]}";`] : []),
				'',
			].join('\n'),
		);
	}

	/** Fetches the index, unless that of last time is young enough or is all there is. */
	update(): void {
		const stamp = join(this.#folder, 'updated');
		if (existsSync(stamp) && Date.now() - statSync(stamp).mtimeMs < INDEX_AGE_MS) return;
		const sources = this.names.map(
			(name) => `deb [signed-by=${KEYRING}] ${mirrorOf(name)} ${name} main`,
		);
		writeFileSync(join(this.#folder, 'sources.list'), `${sources.join('\n')}\n`);
		try {
			this.#apt(APT_GET, 'update', '-qq', '-o', 'APT::Update::Error-Mode=any');
			writeFileSync(stamp, '');
		} catch (error) {
			if (!existsSync(stamp)) throw error;
		}
	}

	/** The packages with all they depend on, as apt would install them on an empty system. */
	closure(names: readonly string[]): string[] {
		const simulated = this.#apt(APT_GET, 'install', '-s', '-qq', ...names);
		return [...simulated.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
	}

	/**
	 * The contents of packages, a folder for each. apt checks a package against the index, and that
	 * against the archive's signature.
	 */
	extracted(names: readonly string[]): string[] {
		const shown = this.#apt('apt-cache', 'show', '--no-all-versions', ...names);
		const versions = [...shown.matchAll(/^Package: (.*)$(?:\n.+)*?\nVersion: (.*)$/gm)];
		const roots = new Map(
			versions.map(([, name = '', version]) => [
				name,
				join(this.#folder, 'roots', `${name}_${version}`),
			]),
		);
		const missing = names.filter((name) => !existsSync(roots.get(name) ?? ''));
		if (missing.length > 0) this.#extract(missing, roots);
		return names.map((name) => roots.get(name) ?? '');
	}

	#extract(names: readonly string[], roots: ReadonlyMap<string, string>): void {
		const debs = join(this.#folder, 'debs');
		rmSync(debs, { recursive: true, force: true });
		this.#apt(APT_GET, 'download', '-qq', ...names);
		for (const file of readdirSync(debs)) {
			const name = file.slice(0, file.indexOf('_'));
			const root = roots.get(name);
			if (!root) throw new Error(`${file} was not asked for`);
			for (const old of readdirSync(join(this.#folder, 'roots')))
				if (old.startsWith(`${name}_`))
					rmSync(join(this.#folder, 'roots', old), { recursive: true });
			const partial = join(this.#folder, 'partial');
			rmSync(partial, { recursive: true, force: true });
			execFileSync('dpkg-deb', ['-x', join(debs, file), partial]);
			renameSync(partial, root);
		}
		rmSync(debs, { recursive: true });
	}

	#apt(program: string, ...args: readonly string[]): string {
		mkdirSync(join(this.#folder, 'debs'), { recursive: true });
		return execFileSync(program, args, {
			cwd: join(this.#folder, 'debs'),
			encoding: 'utf8',
			env: { ...process.env, APT_CONFIG: this.#config },
			maxBuffer: 1 << 28,
			stdio: ['ignore', 'pipe', 'pipe'],
			timeout: TIMEOUT_MS,
		});
	}
}

/** Where this machine itself gets Debian from, by its sources: their indexes need not have been fetched. */
function mirrorOf(suite: string): string {
	const listed = execFileSync(APT_GET, ['update', '--print-uris'], { encoding: 'utf8' });
	const mirrors = [...listed.matchAll(/^'(\S+\/)dists\//gm)].map(([, mirror = '']) => mirror);
	const archive = suite.endsWith('-security') ? 'debian-security' : 'debian';
	const mirror = mirrors.find((each) => each.endsWith(`/${archive}/`));
	if (!mirror) throw new Error(`no source of this machine's apt is a mirror of ${archive}`);
	return mirror;
}
