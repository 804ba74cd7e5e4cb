/** What libbpf has to say is kept, for errors and -v; none of it reaches the terminal by itself. */
import { libbpf, libc, type Pointer, printFunction } from './ffi.js';
import { koffi } from './koffi.js';

/** enum libbpf_print_level */
const LEVEL_DEBUG = 2;
/** A verifier's log can be 16 MB; what is kept is its end, where the reason stands. */
const KEEP_CHARACTERS = 1 << 20;

let kept = '';
let callback: Pointer = null;
let level = 0;

/**
 * One message. `args` is a va_list: on x86-64 an array, on arm64 a structure larger than 16
 * bytes; both are handed over as a pointer, which is what vasprintf takes in turn.
 */
function onMessage(messageLevel: number, format: Pointer, args: Pointer): number {
	if (messageLevel > level) return 0;
	const text: [Pointer] = [null];
	const length = libc().vasprintf(text, format, args);
	if (length >= 0 && text[0] !== null) {
		kept = (kept + koffi().decode.string(text[0], length)).slice(-KEEP_CHARACTERS);
		koffi().free(text[0]);
	}
	return 0;
}

/** Begins to keep messages; with `verbose` those of level "debug" too. */
export function captureMessages(verbose: boolean): void {
	level = verbose ? LEVEL_DEBUG : 0;
	if (callback !== null) return;
	const { libbpf_set_print } = libbpf();
	callback = koffi().register(onMessage, printFunction());
	libbpf_set_print(callback);
}

/** All that was kept since the last call. */
export function takeMessages(): string {
	const messages = kept;
	kept = '';
	return messages;
}
