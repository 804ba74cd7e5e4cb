/** Where a file's symbols can be had: which package it is of, and that package's debug symbols. */
import { opendirSync } from 'node:fs';
import { basename } from 'node:path';
import { answers } from '../../proc/answers.js';
import { openRegular, readFile } from '../../proc/open.js';

const DPKG_FOLDER = '/var/lib/dpkg/info';
/** Several files for each package. */
const MAX_ENTRIES = 100_000;
/** Of one package's files, and of all: a workstation has 30 MB. */
const MAX_LIST_BYTES = 8 * 2 ** 20;
const MAX_LISTS_BYTES = 64 * 2 ** 20;
/** What may stand in a command that somebody copies: nothing that a shell understands. */
const PLAIN_PATH = /^[\w./+-]+$/;

/** A file as it is called under a root folder; "" for ours. */
interface Installed {
	readonly path: string;
	readonly root: string;
}

/** What `installCommands` says of one file. */
export function installCommand(path: string, root: string): string | undefined {
	return installCommands([{ path, root }])[0];
}

/**
 * The commands that install the symbols of these files; undefined for one when its system is none of Debian's or
 * Fedora's kind, or no package has the file. All at once, as a thousand lists may have to be read for them.
 */
export function installCommands(files: readonly Installed[]): (string | undefined)[] {
	const systems = new Map(files.map(({ root }) => [root, distributions(root)]));
	const isLike = (root: string, ...names: string[]) =>
		names.some((name) => systems.get(root)?.includes(name));
	const packages = new Map(
		[...systems.keys()]
			.filter((root) => isLike(root, 'debian', 'ubuntu'))
			.map((root) => {
				const paths = files.flatMap((file) => (file.root === root ? [file.path] : []));
				return [root, debianPackages(paths, root)];
			}),
	);
	return files.map(({ path, root }) => {
		if (isLike(root, 'debian', 'ubuntu')) {
			const name = packages.get(root)?.get(path);
			return name && `apt-get install ${name}-dbgsym (or ${name}-dbg)`;
		}
		if (isLike(root, 'fedora', 'rhel') && PLAIN_PATH.test(path)) {
			return `dnf debuginfo-install $(rpm -qf ${path})`;
		}
		return undefined;
	});
}

/** What the system under `root` is, and what it is like: "ubuntu", "debian". */
export function distributions(root: string): string[] {
	const system = readSmall(`${root}/etc/os-release`)?.toString('utf8') ?? '';
	return [...system.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)/gm)].flatMap((match) =>
		(match[1] as string).split(' '),
	);
}

/** By path, the package whose list of files has it. */
function debianPackages(paths: readonly string[], root: string): Map<string, string | undefined> {
	const packages = new Map<string, string | undefined>();
	const wanted = new Map(paths.map((path) => [path, linesOf(path)]));
	let left_bytes = MAX_LISTS_BYTES;
	for (const name of likelyFirst(listNames(`${root}${DPKG_FOLDER}`), paths)) {
		const list = readSmall(`${root}${DPKG_FOLDER}/${name}`);
		left_bytes -= list?.length ?? 0;
		if (left_bytes < 0) break;
		for (const [path, lines] of wanted) {
			if (!lines.some((line) => list?.includes(line))) continue;
			packages.set(path, packageOf(name));
			wanted.delete(path);
		}
		if (wanted.size === 0) break;
	}
	return packages;
}

/** As a list may have it: where /lib is a link to /usr/lib, packages may still list the short path. */
function linesOf(path: string): Buffer[] {
	const paths = path.startsWith('/usr/') ? [path, path.slice(4)] : [path, `/usr${path}`];
	return paths.map((each) => Buffer.from(`\n${each}\n`));
}

/** Most packages are named after a file of theirs: then the first list has it, and not the thousandth. */
function likelyFirst(lists: readonly string[], paths: readonly string[]): string[] {
	const stems = paths.flatMap((path) => /^[a-z]+/i.exec(basename(path)) ?? []);
	const isLikely = (list: string) => stems.some((stem) => list.startsWith(stem));
	return [...lists.filter(isLikely), ...lists.filter((list) => !isLikely(list))];
}

/** "libc6:amd64.list" is of libc6. */
function packageOf(list: string): string | undefined {
	const name = list.replace(/(:[a-z0-9]+)?\.list$/, '');
	return /^[a-z0-9][a-z0-9+.-]*$/.test(name) ? name : undefined;
}

function listNames(folder: string): string[] {
	const names: string[] = [];
	if (!answers(folder)) return names;
	try {
		const entries = opendirSync(folder);
		for (let i = 0; i < MAX_ENTRIES; i++) {
			const entry = entries.readSync();
			if (!entry) break;
			if (entry.name.endsWith('.list')) names.push(entry.name);
		}
		entries.closeSync();
	} catch {
		// No such folder: no packages.
	}
	return names;
}

function readSmall(path: string): Buffer | undefined {
	return readFile(
		openRegular(path),
		(bytes) => (bytes.size_bytes > MAX_LIST_BYTES ? undefined : bytes.read(0, bytes.size_bytes)),
		() => undefined,
	);
}
