/** koffi calls C functions for us. It is loaded at the first of them: help, pictures and files need none. */
import { createRequire } from 'node:module';
import type Koffi from 'koffi';
import { TstraceError } from '../errors.js';

let loaded: typeof Koffi | undefined;

/** Throws TstraceError where koffi is missing or broken. */
export function koffi(): typeof Koffi {
	loaded ??= load();
	return loaded;
}

function load(): typeof Koffi {
	try {
		return (createRequire(import.meta.url)('koffi') as { default: typeof Koffi }).default;
	} catch (error) {
		throw explained(error as NodeJS.ErrnoException);
	}
}

export const INSTALL_KOFFI = 'install tstrace again with npm, and with --include=optional';

/** In one line, whatever koffi, node or the system's linker make of it. */
function explained({ code, message, stack }: NodeJS.ErrnoException): TstraceError {
	const [cause = ''] = message.split('\n');
	// node says the same of one of koffi's own files.
	const missing = code === 'MODULE_NOT_FOUND' && cause === "Cannot find module 'koffi'";
	const what = missing ? 'the npm package koffi is missing' : `koffi cannot be loaded: ${cause}`;
	return new TstraceError(`${what}; ${INSTALL_KOFFI}`, stack);
}
