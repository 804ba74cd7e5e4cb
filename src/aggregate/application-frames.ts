/**
 * Functions that a runtime has compiled as the program ran: which are the application's, and what they are
 * called. Tables of names, with reasons. Pure values: no I/O, no kernel.
 */
import { remembered } from './remembered.js';
import { type Frame, isOfLanguage } from './stack.js';

/** Code that the runtime has made for itself, as it writes it into its perf map. */
const RUNTIME_CODE: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
	[/^(Builtin|Stub|BytecodeHandler|Handler|Callback|RegExp):/, "V8's log.cc: not JavaScript"],
	[
		/^(Interpreter|call_stub|StubRoutines\b.*|RuntimeStub - .*|Runtime1 stub.*|\w+Blob|I2C\/C2I adapters|vtable chunks|flush_icache_stub)$/,
		"HotSpot's CodeBlob names: methods have a class and arguments",
	],
	[/^(\[.*\]|\[PreStub\].*|(Generate\w+)?[sS]tub<.*)$/, "code without a name, .NET's stubs"],
];

/** Code of the runtime's own libraries, in the application's language. */
const RUNTIME_LIBRARIES: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
	[/ (node:\S+|internal\/\S+\.js):\d+:\d+$/, 'the modules of Node.js, in its perf map'],
	[/ \((node:[^\s:)]+)(:\d+)?\)$/, 'the modules of Node.js, out of its memory'],
	[
		/^(\S+ )?((java|javax|jdk|sun|com\.sun)\.[\w.$<>]+)\(/,
		"the JDK's classes, in HotSpot's perf map",
	],
	[/^L(java|javax|jdk|sun|com\/sun)\/[\w/$]+;/, "the JDK's classes, in that of an agent"],
	[/^py::.*:<frozen /, "Python's own modules"],
	[/ \(<frozen [^)]*>(:\d+)?\)$/, "Python's own modules, out of its memory"],
	[
		/ \(\S*\/lib\/python3(\.\d+)?\/(?!(site|dist)-packages\/)[^)]*\)$/,
		"Python's standard library, out of its memory",
	],
];

/** Whether a frame is of the application's language, and neither the runtime's nor its library's. */
export function isApplication(frame: Frame): boolean {
	return isOfLanguage(frame) && !isOfRuntime(frame.name);
}

/** Names of functions repeat: of each it is asked once. */
const MOST_NAMES = 1 << 15;
const isOfRuntime = remembered(
	(name: string) => [...RUNTIME_CODE, ...RUNTIME_LIBRARIES].some(([pattern]) => pattern.test(name)),
	MOST_NAMES,
);

/** V8 puts one behind the colon, for how it has compiled the function last: code-kind.cc. */
const COMPILED_BY = /^(\w+:)[~^+*]'?/;
/** "void Leak.encodeFrame(int)": HotSpot's Method::external_name. */
const JAVA_METHOD = /^[\w.$[\]]+ ([\w.$]+\.[\w$<>]+\(.*\))$/;

/** The name of a function, whatever its code was compiled by, and without what it returns. */
export function functionOf(frame: Frame): string {
	if (!isOfLanguage(frame)) return frame.name;
	return frame.name.replace(COMPILED_BY, '$1').replace(JAVA_METHOD, '$1');
}
