/**
 * Runtimes whose functions have names in the memory of their processes only. Each has a folder of its own here, with
 * how it is recognised in a file, and how what a walk took for a frame (bpf/lib/runtimes) becomes a name: recognise.ts.
 */
/** What a walk took for a frame: where the object is that tells of its function, and what it had in it. */
export interface FunctionWord {
	readonly place: number;
	readonly print: number;
	/** It is of the caller of the frame, which has no frame of its own: only of runtimes whose frames run one function. */
	readonly isCallers: boolean;
	/** Where in the function the frame is, as its runtime tells that; undefined: nobody asked, or it is not known. */
	readonly instruction?: number;
}

/** Frames of stacks in which a runtime has functions: as if it had no language, of the language alone, or both. */
export type RuntimeFrames = 'native' | 'language' | 'both';

/** Why walks take no functions of a file that could be named: 'count': these are too many files; 'unwanted': nobody asked. */
export type NotTaken = 'count' | 'unwanted';

/** A frame of a walk from outside. */
export interface WalkedFrame {
	readonly fp: number;
	/** Undefined: nobody knows. */
	readonly sp: number | undefined;
	/** It is where the thread stopped, and not where it will go on. */
	readonly isExact: boolean;
	/** Where its code is in the runtime's file; undefined: it was made while the program runs. */
	readonly offset: number | undefined;
}

/** Memory of a process, as far as it can be read without waiting; undefined where it cannot. */
export interface RuntimeMemory {
	read(address: number, length_bytes: number): DataView | undefined;
	/** A part of the file of the program that the process runs; undefined where it cannot be read. */
	readProgram?(offset: number, length_bytes: number): Buffer | undefined;
}

export type Language = 'javascript' | 'python' | 'wasm';

/** A function of a runtime's language. */
export interface LanguageFunction {
	readonly language: Language;
	readonly name: string;
	/** Undefined: it is in none. */
	readonly file: string | undefined;
	/** Where it begins there, from 1 on; undefined: that is not known. */
	readonly line: number | undefined;
	/** Which line of it was executing; undefined: nobody asked, or it is not known. */
	readonly executingLine?: number;
	/** The line could not be read at this moment. */
	readonly isLineLater?: boolean;
}

/** A frame of a stack that a walk has stepped over. */
export interface SteppedFrame {
	/** Its place on the stack: from one address up to another. */
	readonly from: number;
	readonly to: number;
	/** The address of its code. */
	readonly code: number;
}

/** The functions of a thread whose runtime keeps their frames elsewhere than on the thread's stack. */
export interface FunctionStack {
	/** The functions that a frame of the stack runs, innermost first. To be called for each frame, innermost first. */
	take(frame: SteppedFrame): readonly FunctionWord[];
}

/** Names the functions of one process. */
export interface FunctionReader {
	/**
	 * 'none': it is one of the runtime's own, which has a name in the runtime's file. Undefined: what is there is not,
	 * or no longer, the function that the walk met.
	 */
	functionAt(word: FunctionWord): LanguageFunction | 'none' | undefined;
	/**
	 * Functions that the runtime has put into the code of a frame's function, of runtimes that do so: those between a
	 * call and that function, innermost first. `address`: the last byte of the instruction that calls. Undefined: that
	 * is not known, or could not be read.
	 */
	inlinedAt?(address: number, frame: FunctionWord): readonly FunctionWord[] | undefined;
	/**
	 * The function whose code an address is in, of code that runtimes make and that walks take no functions of. 'none': it
	 * is in none. Undefined: there is some, and it could not be read.
	 */
	madeAt?(address: number): LanguageFunction | 'none' | undefined;
}
