/** Errors with which the kernel tells a program to wait or to call again: nothing has failed. */

interface Normal {
	readonly error: string;
	/** Where it is normal; undefined: in all calls. */
	readonly syscall?: RegExp;
	readonly meaning: string;
}

const NORMAL: readonly Normal[] = [
	{ error: 'EAGAIN', meaning: 'nothing to read, or no room to write, yet: normal for polling' },
	{
		error: 'EINPROGRESS',
		syscall: /^connect/,
		meaning: 'the connection is being made: normal for non-blocking sockets',
	},
	{ error: 'EINTR', meaning: 'a signal interrupted the call: most programs call again' },
	{
		error: 'ETIMEDOUT',
		syscall: /^futex/,
		meaning: "the program's own time limit ended the wait: normal for futex",
	},
	{ error: 'ERESTARTSYS', meaning: 'a signal interrupted the call: programs never see it' },
];

/** A line for each of these errors that is among the rows; '' where none is. */
export function normalErrors(
	rows: readonly { readonly error?: string; readonly syscall?: string }[],
): string {
	return NORMAL.filter(({ error, syscall }) =>
		rows.some((row) => row.error === error && (!syscall || syscall.test(row.syscall ?? ''))),
	)
		.map(({ error, meaning }) => `${error}: ${meaning}\n`)
		.join('');
}
