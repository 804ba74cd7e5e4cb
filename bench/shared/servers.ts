/** Debian's servers, each in a folder of its own: started, and ended with all that was started with them. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, type Command } from './children.js';

const START_LIMIT_MS = 60_000;
const LOOK_PERIOD_MS = 250;

/** Of PostgreSQL's programs. */
export const POSTGRES = '/usr/lib/postgresql/15/bin';
/** It does not run as root. */
export const AS_POSTGRES: Command = [
	...['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'],
];

/** They go on until `endPrograms`. */
const children: Child[] = [];

/** Starts it in a folder, which is its home, too. */
export function begin(command: Command, folder: string): number {
	const env = { ...process.env, HOME: folder };
	const child = new Child(['env', '-C', folder, ...command], 'ignore', env);
	child.closed.catch(() => undefined);
	children.push(child);
	return child.pid;
}

export async function endPrograms(): Promise<void> {
	for (const child of children.splice(0).reverse()) await child.end();
}

/** What has to be done before it can be started. */
export function done([file = '', ...args]: Command, folder: string): void {
	const options = { cwd: folder, encoding: 'utf8', timeout: START_LIMIT_MS } as const;
	const { status, stderr, error } = spawnSync(file, args, options);
	if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? stderr}`);
}

/** Does it again until it works. */
export async function until(what: Command, folder: string): Promise<void> {
	for (const limit_ms = Date.now() + START_LIMIT_MS; ; await sleep(LOOK_PERIOD_MS)) {
		try {
			return done(what, folder);
		} catch (error) {
			if (Date.now() > limit_ms) throw error;
		}
	}
}

/** A child of a process by its title, when there is one. */
export async function childOf(parent: number, title: RegExp): Promise<number> {
	for (const limit_ms = Date.now() + START_LIMIT_MS; Date.now() < limit_ms; ) {
		for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
			try {
				const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ');
				if (Number(fields?.[1]) !== parent) continue;
				if (title.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))) return Number(pid);
			} catch {
				// It is gone meanwhile.
			}
		}
		await sleep(LOOK_PERIOD_MS);
	}
	throw new Error(`process ${parent} has no child ${title}`);
}

export const written = (folder: string, name: string, text: string): string => {
	writeFileSync(join(folder, name), text);
	return name;
};

/** `where`: how its client finds it. */
export async function redisServer(
	folder: string,
	where: Command,
	options: Command,
): Promise<number> {
	const pid = begin(['redis-server', '--dir', folder, ...options], folder);
	await until(['redis-cli', ...where, 'get', 'x'], folder);
	return pid;
}

/** Its one worker. `http`: what stands in that block. */
export async function nginxWorker(folder: string, http: string): Promise<number> {
	const main = `daemon off; user root; worker_processes 1; pid ${folder}/pid; error_log ${folder}/errors;`;
	const block = `access_log ${folder}/log; ${http}`;
	written(folder, 'conf', `${main} events {} http { ${block} }`);
	return childOf(begin(['nginx', '-c', `${folder}/conf`], folder), /worker/);
}

/** Clients find it by a socket in the folder, and not otherwise. */
export async function postgresServer(folder: string, port: number): Promise<number> {
	done(['chown', 'postgres', folder], folder);
	done([...AS_POSTGRES, `${POSTGRES}/initdb`, '-D', `${folder}/data`], folder);
	const options = [
		'-D',
		`${folder}/data`,
		'-k',
		folder,
		'-p',
		`${port}`,
		'-c',
		'listen_addresses=',
	];
	const pid = begin([...AS_POSTGRES, `${POSTGRES}/postgres`, ...options], folder);
	await until([`${POSTGRES}/pg_isready`, '-h', folder, '-p', `${port}`], folder);
	return pid;
}
