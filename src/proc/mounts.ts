/** What is mounted where. Format: man 5 proc_pid_mounts, man 5 fstab, man 5 proc_pid_mountinfo. */
import { dirname } from 'node:path';
import { textOf } from '../text-of.js';

export interface Mount {
	readonly folder: string;
	/** Of its file system: "cgroup2". */
	readonly type: string;
	readonly options: readonly string[];
}

/** What this process sees, in the order in which it was mounted; none where that may not be read. */
export function mountsThere(text = textOf('/proc/self/mounts') ?? ''): Mount[] {
	const lines = text.split('\n').filter((line) => line !== '');
	return lines.map((line) => {
		const [, folder = '', type = '', options = ''] = line.split(' ');
		return mountOf(folder, type, options);
	});
}

/** What a process sees mounted, from its mountinfo: for each device ("8:1") one of its mounts. */
export function mountsByDevice(mountinfo: string): Map<string, Mount> {
	const mounts = new Map<string, Mount>();
	for (const line of mountinfo.split('\n')) {
		// In between, there are any number of fields.
		const [first = '', last] = line.split(' - ');
		const [, , device = '', , folder = ''] = first.split(' ');
		const [type = '', , options = ''] = last?.split(' ') ?? [];
		if (last !== undefined) mounts.set(device, mountOf(folder, type, options));
	}
	return mounts;
}

/** The mount that a path, without links, leads into; undefined: none of these. */
export function mountAt(path: string, byFolder: ReadonlyMap<string, Mount>): Mount | undefined {
	for (let at = path; ; at = dirname(at)) {
		const mount = byFolder.get(at);
		if (mount || at === dirname(at)) return mount;
	}
}

const mountOf = (folder: string, type: string, options: string): Mount => ({
	folder: unescaped(folder),
	type: unescaped(type),
	options: options.split(',').map(unescaped),
});

/** Spaces and the like are written in octal, and so are commas in an option. */
const unescaped = (field: string) =>
	field.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8)));
