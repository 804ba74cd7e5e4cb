/** Sees to it that programs have the unwind tables of the files that they meet. */
import { statSync } from 'node:fs';
import type { Subjects } from '../../bpf/filter.js';
import { namedProcesses } from '../../bpf/filter.js';
import { FunctionMaps, type WantedFunctions } from '../../bpf/runtimes/functions.js';
import { type StackSettings, walksByTables } from '../../bpf/stacks/stacks.js';
import type { UnwoundLayout } from '../../bpf/unwind/table-memory.js';
import { type FileIdentity, fileName, UnwindMaps, VDSO } from '../../bpf/unwind/tables.js';
import { closeAll } from '../../loader/close-all.js';
import { giveLargeBuffersBack } from '../../loader/memory.js';
import type { BpfObject } from '../../loader/object.js';
import { ringBufferMissing } from '../../loader/realtime.js';
import { answers } from '../../proc/answers.js';
import { commandPath } from '../../proc/command-path.js';
import { parseMaps } from '../../proc/maps.js';
import { readMaps } from '../../proc/process-facts.js';
import type { Note } from '../../reader.js';
import type { TableAnswer } from './table-orders.js';
import { TableReader } from './table-reader.js';

/** How long the beginning waits for the tables of what the chosen processes have mapped. */
const PATIENCE_MS = 2000;
/** Of chosen processes; what is left out is asked for when it is met. */
const MAX_FILES_AT_FIRST = 1000;
/** Of a process that meets a file without a table: its other files come next, most likely. */
const MAX_NEIGHBOURS = 64;
/** Processes whose other files are looked for, in a second. */
const MAX_ASKING = 32;
/** That many of their mappings: a stranger may have a million. */
const NEIGHBOURS_BYTES = 2 ** 17;
/** include/linux/kdev_t.h: a device as the kernel itself numbers it. */
const MINOR_BITS = 20;

/**
 * The tables that the programs of an object walk by, which is to be loaded; undefined: they walk by frame pointers.
 * `note` gets to know when all that were asked for are there.
 */
export function unwindTables(
	object: BpfObject<UnwoundLayout>,
	settings: Pick<StackSettings, 'user' | 'unwind' | 'runtimeFrames' | 'executingLines'>,
	subjects: Subjects,
	note: Note,
): UnwindTables | undefined {
	if (walksByTables(settings))
		return new UnwindTables(object, subjects, note, {
			functions: settings.runtimeFrames !== 'native',
			lines: settings.executingLines === true,
		});
	const why = ringBufferMissing();
	if (settings.user && why !== undefined) note(`walks user stacks by frame pointers: ${why}`);
	return undefined;
}

export class UnwindTables {
	/** What walks by these tables take of functions of runtimes. */
	readonly functions: FunctionMaps;
	readonly #maps: UnwindMaps;
	readonly #subjects: Subjects;
	readonly #note: Note;
	#reader: TableReader | undefined;
	/** Files that could not be read when they were asked for: who meets them next asks again. */
	#unread: FileIdentity[] = [];
	#lacksRules = false;
	/** Files that the programs know of by now. */
	#read = 0;
	/** Processes that have asked for files, since the last round. */
	readonly #asked = new Set<number>();
	/** Files that were ordered, by name. */
	readonly #ordered = new Set<string>();

	/** `wanted`: of runtimes. */
	constructor(
		object: BpfObject<UnwoundLayout>,
		subjects: Subjects,
		note: Note,
		wanted?: WantedFunctions,
	) {
		this.#maps = new UnwindMaps(object);
		this.functions = new FunctionMaps(object, wanted);
		this.#subjects = subjects;
		this.#note = note;
	}

	/**
	 * Has the tables read of the processes that were chosen, meanwhile; the object need not be loaded yet. `ofChosen`:
	 * false leaves these out, where nobody will walk their stacks.
	 */
	order(ofChosen = true): void {
		giveLargeBuffersBack();
		this.#reader = new TableReader((file, answer) => this.#take(file, answer));
		this.#reader.order(VDSO, undefined);
		if (!ofChosen) return;
		for (const pid of namedProcesses(this.#subjects)) this.#orderFilesOf(pid, MAX_FILES_AT_FIRST);
		this.#orderCommand();
	}

	/**
	 * The object is loaded, and not yet attached: waits for what was ordered, if that does not take long. Nothing may
	 * be awaited between `order` and this: answers have no place to go until then.
	 */
	begin(): void {
		this.#maps.open();
		this.functions.open();
		if (namedProcesses(this.#subjects).length > 0) this.#reader?.wait(PATIENCE_MS);
		this.#maps.watch(async () => this.#answerRequests());
	}

	/** Called every second. */
	drain(): void {
		this.#maps.nextRound();
		this.#asked.clear();
		for (const file of this.#unread.splice(0)) this.#maps.drop(file);
	}

	/** Why tables are missing, beyond those that are late; undefined: there is no such reason. */
	get problem(): string | undefined {
		const problem = this.#reader?.problem;
		if (problem !== undefined) return `unwind tables cannot be read: ${problem}`;
		return this.#lacksRules || this.#maps.lacksRoom
			? 'there is no room for all unwind tables; trace fewer processes (-p)'
			: undefined;
	}

	/** Tracing ends. */
	end(): void {
		this.#reader?.close();
	}

	close(): void {
		closeAll([() => this.#reader?.close(), () => this.functions.close(), () => this.#maps.close()]);
	}

	#answerRequests(): void {
		for (const request of this.#maps.requests()) {
			const { pid, start, end } = request;
			this.#ordered.add(fileName(request));
			this.#order(request, mapFile(pid, start, end));
			if (this.#asked.has(pid) || this.#asked.size >= MAX_ASKING) continue;
			this.#asked.add(pid);
			this.#orderFilesOf(pid, MAX_NEIGHBOURS, NEIGHBOURS_BYTES);
		}
	}

	#order(file: FileIdentity, path: string): void {
		const [major, minor] = [
			Math.floor(file.device / 2 ** MINOR_BITS),
			file.device % 2 ** MINOR_BITS,
		];
		if (!answers(path, { major, minor }) || !this.#reader?.order(file, path))
			this.#unread.push(file);
	}

	/** Has the table of COMMAND's own file read: its process is still the shell that holds it. */
	#orderCommand(): void {
		const [name] = this.#subjects.words;
		if (name === undefined) return;
		const path = commandPath(name);
		const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
		if (!stat?.isFile()) return;
		const device = deviceNumber(Number(stat.dev));
		this.#order({ inode: stat.ino, device, changed_ns: 0n }, path);
	}

	/** Has the tables read of files that a process has mapped as code, and that there is none of. */
	#orderFilesOf(pid: number, most: number, most_bytes?: number): void {
		let count = 0;
		const maps = readMaps(pid, most_bytes) ?? '';
		for (const { start, end, inode, major, minor } of parseMaps(maps)) {
			// Of a larger one its last digits are lost.
			if (inode === 0 || !Number.isSafeInteger(inode)) continue;
			const device = major * 2 ** MINOR_BITS + minor;
			const file = { inode: BigInt(inode), device, changed_ns: 0n };
			const name = fileName(file);
			if (this.#ordered.has(name)) continue;
			this.#ordered.add(name);
			this.#order(file, mapFile(pid, start, end));
			if (++count === most) return;
		}
	}

	#take(file: FileIdentity, answer: TableAnswer): void {
		if (answer.found === 'table') this.#lacksRules ||= answer.lacksRules;
		// Whatever becomes of the table: later ones have the same rules.
		if (answer.found === 'table' && answer.table) this.#maps.addRules(answer.table);
		const isAsked = file.changed_ns !== 0n;
		// What was read is not what was asked for, or is so no more: the next walk through it asks again.
		if (answer.found === 'nothing' || (isAsked && answer.changed_ns !== file.changed_ns))
			this.#unread.push(file);
		else {
			const runtime = answer.runtime ? this.functions.add(file, answer.runtime) : 0;
			this.#maps.put({ ...file, changed_ns: answer.changed_ns }, answer.table, runtime);
			this.#read++;
		}
		const files = this.#read === 1 ? 'file' : 'files';
		if (this.#reader?.isIdle) this.#note(`has read the unwind tables of ${this.#read} ${files}`);
	}
}

/** The very file that is mapped there. */
function mapFile(pid: number, start: number, end: number): string {
	return `/proc/${pid}/map_files/${start.toString(16)}-${end.toString(16)}`;
}

/** include/linux/kdev_t.h, new_decode_dev: stat has the low bits of the minor number apart from the others. */
function deviceNumber(dev: number): number {
	const major = (dev >>> 8) & 0xfff;
	const minor = (dev & 0xff) | ((dev >>> 12) & 0xfff00);
	return major * 2 ** MINOR_BITS + minor;
}
