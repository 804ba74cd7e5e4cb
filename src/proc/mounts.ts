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
		return {
			folder: unescaped(folder),
			type: unescaped(type),
			options: options.split(',').map(unescaped),
		};
	});
}

/** Devices of file systems that are mounted where whoever has this mountinfo sees them, and their types. */
export function devicesIn(mountinfo: string): Map<string, string> {
	const lines = mountinfo.split('\n').filter((line) => line !== '');
	return new Map(
		lines.map((line) => {
			const [, , device = ''] = line.split(' ');
			// Before it, there are any number of fields.
			const [, type = ''] = / - (\S+)/.exec(line) ?? [];
			return [device, type];
		}),
	);
}

/** The mount that a path, without links, leads into; undefined: none of these. */
export function mountAt(path: string, byFolder: ReadonlyMap<string, Mount>): Mount | undefined {
	for (let at = path; ; at = dirname(at)) {
		const mount = byFolder.get(at);
		if (mount || at === dirname(at)) return mount;
	}
}

/** Spaces and the like are written in octal, and so are commas in an option. */
const unescaped = (field: string) =>
	field.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8)));
