/** What is said between the thread that traces and the one that reads unwind tables. */

import type { MessagePort } from 'node:worker_threads';
import type { RuntimeFile } from '../../runtimes/recognise.js';
import type { PackedTable } from '../../unwind/packed-table.js';

/** Read the unwind table of a file. */
export interface TableOrder {
	readonly name: string;
	/** Undefined: of the vdso. */
	readonly path: string | undefined;
	/** It has to be this file: its inode, or the time of its last change. */
	readonly inode: bigint;
	readonly changed_ns: bigint;
}

export type TableAnswer = { readonly name: string } & (
	| { readonly found: 'nothing' }
	| {
			readonly found: 'table';
			/** When the file that was read was changed last. */
			readonly changed_ns: bigint;
			readonly table: PackedTable | undefined;
			/** What is in the file. */
			readonly runtime?: RuntimeFile | undefined;
			/** Some rules of the files so far had no room. */
			readonly lacksRules: boolean;
	  }
);

/** What a worker begins with. */
export interface WorkerData {
	/** Orders come by it, and answers go. */
	readonly port: MessagePort;
	/** One number, which the worker raises with each answer. */
	readonly answers: Int32Array;
}
