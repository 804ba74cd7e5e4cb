/** One BPF program, and what the kernel says of it. */

import { TstraceError } from '../errors.js';
import { bpf_prog_info } from '../generated/uapi.js';
import { failure, libbpf, type Pointer } from './ffi.js';
import { readU64 } from './layout.js';

/** What a program has cost; counted only while run-time statistics are on (see cost.ts). */
interface ProgramInfo {
	readonly runs: number;
	readonly time_ns: number;
	/** Runs that did not happen, because the program was already running on that CPU (5.12). */
	readonly missed: number;
}

export class BpfProgram {
	readonly name: string;
	/** Whether it is to be loaded. */
	wanted = true;

	constructor(readonly pointer: Pointer) {
		this.name = libbpf().bpf_program__name(pointer);
	}

	setAutoload(autoload: boolean): void {
		this.wanted = autoload;
		libbpf().bpf_program__set_autoload(this.pointer, autoload);
	}

	/** Before loading: what it is to be attached to, where the section's name does not say it all. */
	setAttachType(type: number): void {
		libbpf().bpf_program__set_expected_attach_type(this.pointer, type);
	}

	/** Once it is loaded. */
	get fd(): number {
		return libbpf().bpf_program__fd(this.pointer);
	}

	/** man 2 bpf, BPF_OBJ_GET_INFO_BY_FD. */
	info(): ProgramInfo {
		const info = new Uint8Array(bpf_prog_info.size);
		const result = libbpf().bpf_obj_get_info_by_fd(this.fd, info, [info.length]);
		if (result < 0)
			throw new TstraceError(`cannot read the statistics of a BPF program: ${failure(result)}`);
		const view = new DataView(info.buffer);
		const { run_cnt, run_time_ns, recursion_misses } = bpf_prog_info.fields;
		return {
			runs: readU64(view, run_cnt.offset),
			time_ns: readU64(view, run_time_ns.offset),
			missed: readU64(view, recursion_misses.offset),
		};
	}
}
