/** All checks, in the order in which they are shown. */
import { TstraceError } from '../errors.js';
import { libbpf } from '../loader/ffi.js';
import { captureMessages } from '../loader/libbpf-messages.js';
import { attempt, type Check } from './check.js';
import { kernel } from './kernel.js';
import { caller, kernelSymbols, library } from './libraries.js';
import { perfEvents } from './perf.js';
import { privileges, surroundings } from './privileges.js';

export function examineMachine(): Check[] {
	keepMessages();
	return [
		caller(),
		attempt('libbpf', library),
		...kernel(),
		...privileges(),
		...perfEvents(),
		attempt('kernel symbols', kernelSymbols),
		...surroundings(),
	];
}

/** What libbpf says of what we try is not for the terminal. */
function keepMessages(): void {
	try {
		libbpf();
		captureMessages(false);
	} catch (error) {
		if (!(error instanceof TstraceError)) throw error;
	}
}
