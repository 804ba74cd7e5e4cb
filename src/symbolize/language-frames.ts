/** Frames of a runtime's language, woven into the frames of a stack. Pure values: no I/O. */
import { type Frame, type FrameKind, isOfLanguage } from '../aggregate/stack.js';
import type { Language, LanguageFunction } from '../runtimes/runtime.js';
import { Place } from './code-place.js';

/** A frame of a walk. */
export interface PlacedFrame {
	readonly code: Place;
	/** The functions of the runtime's language that run there, innermost first, or the one that has called the code. */
	readonly runs?: readonly Place[];
	/** That function has called the code, and has no other frame in the stack. */
	readonly isCallers?: boolean;
	/** There is such a function, and it could not be read: what stands for it is the code. */
	readonly isUnread?: boolean;
}

/** Code of V8's by which functions run: an instruction of their bytecode each, and what goes from one to the next. */
const RUNS_FUNCTIONS = /^Builtins_(\w+Handler|InterpreterEntryTrampoline\w*)$/;

/** What of V8's calls code that was compiled for a regular expression, or else functions, which are known. */
const CALLS_REGEXPS = /^(Builtins_RegExp|v8::internal::(NativeRegExpMacroAssembler|RegExpImpl)::)/;
const REGEXP = new Place({ name: '[regexp]', kind: 'jit' });

/** The frames that are shown; leaf first. */
export function withFunctions(frames: readonly PlacedFrame[]): Place[] {
	const shown: Place[] = [];
	for (const [i, frame] of frames.entries()) {
		const { code, runs } = frame;
		if (!runs) shown.push(isRegexp(code, frames[i + 1]) ? REGEXP : code);
		// A perf map has columns, too, and knows lines of all modules.
		else if (isNamedByMap(code)) shown.push(code);
		else {
			if (isShownItself(frame)) shown.push(code);
			for (const function_ of runs) shown.push(function_);
		}
	}
	return shown;
}

const isShownItself = ({ code, isCallers }: PlacedFrame): boolean =>
	isCallers === true && !RUNS_FUNCTIONS.test(code.frame.name);

function isRegexp(code: Place, caller: PlacedFrame | undefined): boolean {
	return code.lacks === 'perf-map' && !!caller && CALLS_REGEXPS.test(caller.code.frame.name);
}

/** Whether a function that could not be read is missed: a perf map may name it. */
export const lacksFunction = ({ code, isUnread }: PlacedFrame): boolean =>
	isUnread === true && !isNamedByMap(code);

function isNamedByMap({ frame, lacks }: Place): boolean {
	return isOfLanguage(frame) && lacks === undefined;
}

const KINDS: Readonly<Record<Language, FrameKind>> = {
	javascript: 'javascript',
	python: 'python',
	wasm: 'jit',
};

export const frameOf = (source: LanguageFunction): Frame => ({
	name: functionText(source),
	kind: KINDS[source.language],
	source,
});

/** "handle (/srv/app/server.js:12)" */
function functionText({ name, file, line: first, executingLine }: LanguageFunction): string {
	const line = executingLine ?? first;
	if (file === undefined) return `${name} (no file)`;
	return line === undefined ? `${name} (${file})` : `${name} (${file}:${line})`;
}
