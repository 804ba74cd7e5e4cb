/** The kernel's own word on a call's arguments: its tracepoint's format in tracefs. */
import { tracefsText } from '../../perf/tracepoint.js';

/** An argument as the kernel declares it. */
export interface Declared {
	readonly type: string;
	readonly name: string;
}

/** The arguments of sys_enter_NAME, out of its format. */
export function declaredIn(format: string): Declared[] {
	const found = format.matchAll(/^\tfield:(.*?)(\w+);\toffset:(\d+);/gm);
	return [...found]
		.map(([, type = '', name = '', offset = '0']) => ({
			type: type.trim(),
			name,
			offset: Number(offset),
		}))
		.filter(({ name }) => !name.startsWith('common_') && name !== '__syscall_nr')
		.map(({ type, name }) => ({ type, name }));
}

/** Those of one call; undefined: this kernel has no tracepoint for it, or tracefs cannot be read. */
export function declaredArguments(call: string): Declared[] | undefined {
	const format = tracefsText(`events/syscalls/sys_enter_${call}/format`);
	return format === undefined ? undefined : declaredIn(format);
}

/** Names of paths among `const char *`. */
const PATHS =
	/^(file|path|old|new|dir_|special)?(name|path|file)$|^pathname$|^filename$|^(old|new)$|^specialfile$/;
const DESCRIPTORS =
	/^(fd|ufd|epfd|pidfd|fildes|mqdes|fd_in|fd_out|in_fd|out_fd|ns_fd|dirfd|lower_fd|fs_fd|ruleset_fd)$/;
const AT = /dfd$/;

/** A signature's word for what the kernel declares. */
export function wordOf({ type, name }: Declared): string {
	const pointed = /^(const )?struct (\w+) \*$/.exec(type);
	if (/^const char \*$/.test(type)) return PATHS.test(name) ? 'path' : 'str';
	if (pointed) return `${pointed[1] || isInput(name) ? 'in' : 'out'}/${pointed[2]}`;
	if (type.includes('*')) return 'ptr';
	if (AT.test(name)) return 'at';
	if (DESCRIPTORS.test(name)) return 'fd';
	if (/^umode_t$/.test(type)) return 'mode';
	if (/flags$|mask$|^addr|^start$/.test(name)) return 'hex';
	if (/^(size_t|unsigned long|u64|__u64)$/.test(type)) return 'size';
	if (/^(long|loff_t|off_t)$/.test(type)) return 'off';
	if (/^(unsigned|unsigned int|u32|__u32|uid_t|gid_t)$/.test(type)) return 'uint';
	return 'int';
}

/** Declared without const, and yet only read. */
const isInput = (name: string) => /^(u?attr|uargs|new|utimes|times|param|req)/.test(name);
