/** Frames of a runtime's language, woven into the frames of a stack. Pure values: no I/O. */
import type { LanguageFunction } from '../runtimes/runtime.js';
import type { Place } from './code-place.js';

/** A frame of a walk; one of the two is there at least. */
export interface PlacedFrame {
	/** Undefined: it is nothing but the way in which the function runs. */
	readonly code?: Place;
	/** The function of the runtime's language that runs there, or that has called the code. */
	readonly runs?: Place | undefined;
}

/** Code of V8's by which functions run: an instruction of their bytecode each, and what goes from one to the next. */
const RUNS_FUNCTIONS = /^Builtins_(\w+Handler|InterpreterEntryTrampoline\w*)$/;

/** The frames that are shown. */
export function withFunctions(frames: readonly PlacedFrame[]): Place[] {
	const shown: Place[] = [];
	for (const { code, runs } of frames) {
		const isShown = code && !(runs && RUNS_FUNCTIONS.test(code.frame.name));
		if (isShown) shown.push(code);
		if (runs) shown.push(runs);
	}
	return shown;
}

/** "handle (/srv/app/server.js:12)" */
export function functionText({ name, file, line }: LanguageFunction): string {
	if (file === undefined) return `${name} (no file)`;
	return line === undefined ? `${name} (${file})` : `${name} (${file}:${line})`;
}
