/** The peers on this machine: where they are, which version, or why they are missing. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import type { PeerResult } from '../experiments/results.js';
import type { Command } from './children.js';

/** Fetched by scripts/peers.sh. */
const FETCHED = 'build/peers';
const LIBBPF_TOOLS = `${FETCHED}/libbpf-tools`;

/** To say its version. */
const LIMIT_MS = 10_000;

export interface Peer {
	/** What comes before its arguments. */
	readonly command: Command;
	readonly version?: string;
	readonly missing?: string;
}

function says(command: string): string {
	const { stdout, stderr } = spawnSync('sh', ['-c', command], {
		encoding: 'utf8',
		timeout: LIMIT_MS,
	});
	return (stdout || stderr).trim().split('\n')[0] ?? '';
}

/** The command that says it. */
const packageVersion = (name: string) => `dpkg-query -W -f '\${Version}' ${name}`;

const has = (name: string) => says(`command -v ${name}`) !== '';

/** One on the PATH. */
function onPath(name: string, version = `${name} --version`): Peer {
	if (!has(name)) return { command: [name], missing: 'not on the PATH' };
	return { command: [name], version: says(version) || 'unknown' };
}

/** The C library's own architecture folder of Debian: x86_64-linux-gnu. */
const TRIPLET = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;

/** One of the installed release of libbpf-tools: docs quote figures against these. */
export function libbpfTool(name: string): Peer {
	const command = [`/usr/sbin/${name}`];
	if (!existsSync(`/usr/sbin/${name}`)) return { command, missing: `no /usr/sbin/${name}` };
	return { command, version: says(packageVersion('libbpf-tools')) };
}

/** One of the newest libbpf-tools, with the C library it was built for. */
export function newestLibbpfTool(name: string): Peer {
	const file = `${LIBBPF_TOOLS}/usr/sbin/${name}-libbpf`;
	const libraries = `${LIBBPF_TOOLS}/usr/lib/${TRIPLET}`;
	const loader = [`${libraries}/ld-linux-x86-64.so.2`, `${libraries}/ld-linux-aarch64.so.1`].find(
		existsSync,
	);
	if (!existsSync(file) || !loader) {
		return {
			command: [file],
			missing: 'no newer libbpf-tools could be fetched (scripts/peers.sh)',
		};
	}
	const paths = [libraries, `/usr/lib/${TRIPLET}`, `/lib/${TRIPLET}`].join(':');
	return {
		command: [loader, '--library-path', paths, file],
		version: readFileSync(`${LIBBPF_TOOLS}/version`, 'utf8').trim(),
	};
}

export const bpftrace = (): Peer => onPath('bpftrace');
export const perf = (): Peer => onPath('perf');
export const strace = (): Peer => onPath('strace');

/** bcc compiles against the kernel's headers each time it starts. */
export function bcc(name: string): Peer {
	const command = [`${name}-bpfcc`];
	const headers = `/lib/modules/${release()}/build`;
	if (!existsSync(headers) && !existsSync('/sys/kernel/kheaders.tar.xz')) {
		return { command, missing: `no headers of this kernel: there is no ${headers}` };
	}
	return onPath(`${name}-bpfcc`, packageVersion('bpfcc-tools'));
}

/** flamegraph.pl's folder as Debian has it, with Devel::NYTProf. */
const NYTPROF = `${FETCHED}/nytprof/usr/share/perl5/Devel/NYTProf/flamegraph.pl`;

export function flamegraphPl(): Peer {
	if (has('flamegraph.pl')) return { command: ['flamegraph.pl'], version: 'on the PATH' };
	if (!existsSync(NYTPROF)) return { command: ['flamegraph.pl'], missing: 'not on the PATH' };
	return { command: ['perl', NYTPROF], version: "the copy in Debian's libdevel-nytprof-perl" };
}

/** Scripts of the FlameGraph repository that no package has. */
export function flamegraphScript(name: string): Peer {
	return has(name)
		? { command: [name], version: 'on the PATH' }
		: { command: [name], missing: 'not on the PATH, and in no package' };
}

export function allPeers(): PeerResult[] {
	const peers: Record<string, Peer> = {
		'libbpf-tools': libbpfTool('runqlat'),
		'libbpf-tools, newest (memleak, profile)': newestLibbpfTool('memleak'),
		bpftrace: bpftrace(),
		perf: perf(),
		strace: strace(),
		bcc: bcc('runqlat'),
		'flamegraph.pl': flamegraphPl(),
		'difffolded.pl': flamegraphScript('difffolded.pl'),
		'stackcollapse-perf.pl': flamegraphScript('stackcollapse-perf.pl'),
	};
	return Object.entries(peers).map(([name, { version, missing }]) =>
		missing === undefined ? { name, version: version ?? 'unknown' } : { name, missing },
	);
}
