/**
 * What a ScopeInfo of V8's says of its function: name and position. Its parts are there or not, by its flags, and
 * their order is the version's. Source: V8's scope-info.tq.
 */
import type { Heap } from './heap.js';
import type { ScopeForm } from './versions.js';

const WORD_BYTES = 8;
/** Words, from the object's map on. */
const AT = { flags: 1, locals: 3, next: 4 } as const;
/** Bits of the flags. */
const FLAGS = {
	scopeType: { shift: 0, mask: 0xf },
	hasClassVariable: { shift: 10, mask: 1 },
	functionVariable: { shift: 12, mask: 3 },
	hasInferredName: { shift: 14, mask: 1 },
	isEmpty: { shift: 29, mask: 1 },
} as const;
/** Scopes that say behind their names where they are in the source: of eval, functions, modules and scripts. */
const FIRST_WITH_POSITION = 1;
const LAST_WITH_POSITION = 4;
/** Where a scope begins, and where it ends. */
const POSITION_WORDS = 2;
/** The function's own name, as a variable of its own. */
const FUNCTION_VARIABLE_WORDS = 2;
/** From so many local variables on, their names are in a table of their own. */
const NAMES_IN_TABLE = 75;
/** More than any function has. */
const MAX_LOCALS = 1 << 16;

interface Scope {
	/** Pointers to strings; undefined: it has none. */
	readonly name: number | undefined;
	/** What V8 made up from where the function was put. */
	readonly inferredName: number | undefined;
	/** Characters of the source before it; undefined: it does not say. */
	readonly start: number | undefined;
}

/** Undefined: it is damaged, or could not be read. */
export function scopeAt(heap: Heap, scope: number): Scope | undefined {
	const { isPositionFirst, module }: ScopeForm = heap.layout.scope;
	const flags = flagsAt(heap, scope);
	const locals = heap.smi(scope, AT.locals * WORD_BYTES);
	if (flags === undefined || locals === undefined || locals < 0 || locals > MAX_LOCALS)
		return undefined;
	const flag = ({ shift, mask }: { shift: number; mask: number }) => (flags >>> shift) & mask;
	const scopeType = flag(FLAGS.scopeType);
	let at: number = AT.next;
	let positionAt: number | undefined;
	if (isPositionFirst) {
		if (flag(FLAGS.isEmpty) === 0) positionAt = at;
		at += POSITION_WORDS;
	}
	if (scopeType === module) at++;
	at += locals < NAMES_IN_TABLE ? locals : 1;
	at += locals + flag(FLAGS.hasClassVariable);
	const ownWords = flag(FLAGS.functionVariable) === 0 ? 0 : FUNCTION_VARIABLE_WORDS;
	const inferredAt = at + ownWords;
	const end = inferredAt + flag(FLAGS.hasInferredName);
	if (!heap.has(scope, at * WORD_BYTES, (end - at) * WORD_BYTES)) return undefined;
	const name = ownWords > 0 ? heap.pointer(scope, at * WORD_BYTES) : undefined;
	const inferredName = end > inferredAt ? heap.pointer(scope, inferredAt * WORD_BYTES) : undefined;
	const hasPosition = scopeType >= FIRST_WITH_POSITION && scopeType <= LAST_WITH_POSITION;
	return placed(
		heap,
		scope,
		{ name, inferredName },
		isPositionFirst || !hasPosition ? positionAt : end,
	);
}

/** `at`: the word that says where it begins; undefined: none does. */
function placed(
	heap: Heap,
	scope: number,
	names: Omit<Scope, 'start'>,
	at: number | undefined,
): Scope | undefined {
	if (at === undefined) return { ...names, start: undefined };
	const start = heap.smi(scope, at * WORD_BYTES);
	return start === undefined ? undefined : { ...names, start };
}

function flagsAt(heap: Heap, scope: number): number | undefined {
	const offset = AT.flags * WORD_BYTES;
	return heap.layout.scope.isFlagsSmi ? heap.smi(scope, offset) : heap.int32(scope, offset);
}
