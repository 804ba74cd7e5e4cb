/** A cgroup of our own whose CPU time can be limited, of either version. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PERIOD_USEC = 100_000;

/** Where cgroups are mounted, and the file there that has the quota. */
const VERSIONS = [
	['/sys/fs/cgroup/cpu', 'cpu.cfs_quota_us'],
	['/sys/fs/cgroup', 'cpu.max'],
] as const;

export class CpuCgroup {
	private constructor(private readonly folder: string) {}

	/** Throws where there is no CPU controller. */
	static make(name: string): CpuCgroup {
		for (const [base, file] of VERSIONS) {
			if (!existsSync(join(base, 'cgroup.procs'))) continue;
			const subtree = join(base, 'cgroup.subtree_control');
			if (existsSync(subtree)) writeFileSync(subtree, '+cpu');
			const folder = join(base, `tstrace-${name}-${process.pid}`);
			mkdirSync(folder);
			if (existsSync(join(folder, file))) return new CpuCgroup(folder);
			rmdirSync(folder);
		}
		throw new Error('no cgroup with the CPU controller is mounted');
	}

	/** Puts a process into it. */
	add(pid: number): void {
		writeFileSync(join(this.folder, 'cgroup.procs'), `${pid}`);
	}

	/** To so many per cent of one CPU; a period of at most a second. */
	limitTo(percent: number, period_usec = PERIOD_USEC): void {
		const quota_usec = (period_usec * percent) / 100;
		if (existsSync(join(this.folder, 'cpu.max'))) {
			writeFileSync(join(this.folder, 'cpu.max'), `${quota_usec} ${period_usec}`);
			return;
		}
		writeFileSync(join(this.folder, 'cpu.cfs_period_us'), `${period_usec}`);
		writeFileSync(join(this.folder, 'cpu.cfs_quota_us'), `${quota_usec}`);
	}

	/** What the kernel itself says: how often its queues were throttled, and for how long. */
	throttled(): { times: number; ns: number } {
		const stat = readFileSync(join(this.folder, 'cpu.stat'), 'utf8');
		const number = (name: string) =>
			Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? Number.NaN);
		const version1_ns = number('throttled_time');
		const ns = Number.isNaN(version1_ns) ? number('throttled_usec') * 1000 : version1_ns;
		return { times: number('nr_throttled'), ns };
	}

	/** Once it is empty. */
	remove(): void {
		rmdirSync(this.folder);
	}
}
