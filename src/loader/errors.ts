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
