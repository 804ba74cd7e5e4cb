/** What this machine is, for the record. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import type { Machine } from '../experiments/results.js';

const text = (file: string) => {
	try {
		return readFileSync(file, 'utf8');
	} catch {
		return '';
	}
};

/** To say which commit this is. */
const LIMIT_MS = 10_000;

export function commit(): string {
	const { stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], {
		encoding: 'utf8',
		timeout: LIMIT_MS,
	});
	return stdout?.trim() || 'unknown';
}

export function machine(): Machine {
	const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
	return {
		tstrace: version,
		processor: cpus()[0]?.model ?? process.arch,
		CPUs: availableParallelism(),
		'memory, GB': Math.round(totalmem() / 1e9),
		virtual: /^flags.*\bhypervisor\b/m.test(text('/proc/cpuinfo')) ? 'yes' : 'no',
		kernel: release(),
		system: /^PRETTY_NAME="(.*)"$/m.exec(text('/etc/os-release'))?.[1] ?? 'unknown',
		node: process.version,
	};
}
