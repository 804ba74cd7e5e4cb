/** A cgroup of our own that counts the memory of whoever is put into it, of either version. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where cgroups are mounted, and the file there that limits memory. */
const VERSIONS = [
	['/sys/fs/cgroup', 'memory.max'],
	['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
] as const;

/** The file that has none of it swapped out, if it is 0. */
const NO_SWAP = ['memory.swap.max', 'memory.swappiness'] as const;

/** What the kernel took for them, in memory.stat: `kernel` since 5.18, before only its parts. */
const KERNEL = /^kernel (\d+)$/m;
const KERNEL_PARTS = /^(?:kernel_stack|pagetables|percpu|slab) (\d+)$/gm;

export class MemoryCgroup {
	private constructor(
		readonly folder: string,
		private readonly limitFile: string,
	) {}

	/** Throws where there is no memory controller. */
	static make(name: string): MemoryCgroup {
		for (const [base, limitFile] of VERSIONS) {
			const folder = join(base, `tstrace-${name}-${process.pid}`);
			if (!existsSync(join(base, 'cgroup.procs'))) continue;
			mkdirSync(folder);
			if (existsSync(join(folder, limitFile))) return new MemoryCgroup(folder, limitFile);
			rmdirSync(folder);
		}
		throw new Error('no cgroup with the memory controller is mounted');
	}

	/** What makes a program begin in it: words that stand before its own. */
	get enter(): readonly string[] {
		return ['sh', '-c', 'echo $$ > "$0" && exec "$@"', join(this.folder, 'cgroup.procs')];
	}

	/** Memory and swap together. */
	limitTo(bytes: number): void {
		const swap = NO_SWAP.find((file) => existsSync(join(this.folder, file)));
		if (swap) writeFileSync(join(this.folder, swap), '0');
		writeFileSync(join(this.folder, this.limitFile), `${bytes}`);
	}

	/** What the kernel has taken for those in it: maps, programs, tables of pages, files. */
	kernelBytes(): number {
		const version1 = join(this.folder, 'memory.kmem.usage_in_bytes');
		if (existsSync(version1)) return Number(readFileSync(version1, 'utf8'));
		const stat = readFileSync(join(this.folder, 'memory.stat'), 'utf8');
		const all = KERNEL.exec(stat)?.[1];
		if (all !== undefined) return Number(all);
		return [...stat.matchAll(KERNEL_PARTS)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
	}

	/** Whether all in it have ended. */
	isEmpty(): boolean {
		return readFileSync(join(this.folder, 'cgroup.procs'), 'utf8') === '';
	}

	/** Once it is empty. */
	remove(): void {
		rmdirSync(this.folder);
	}
}
