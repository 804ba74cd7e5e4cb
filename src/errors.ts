/** What tstrace says it cannot do; run/run.ts and cli/explain.ts make exit statuses of it. */

/** Wrong usage: exit status 2. Anything else that cannot be done is a TstraceError: status 1. */
export class UsageError extends Error {}

/**
 * An error meant for the person at the terminal: `message` is one line that says what, why and
 * what to do; `detail` is the cause at length, shown with -v only.
 */
export class TstraceError extends Error {
	constructor(
		message: string,
		/** The verifier's log, libbpf's messages, errno. */
		readonly detail = '',
	) {
		super(message);
		this.name = 'TstraceError';
	}
}
