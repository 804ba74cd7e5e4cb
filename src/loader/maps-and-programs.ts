/** The maps and programs of an open object, one after the other, as libbpf hands them out. */
import { libbpf, type Pointer } from './ffi.js';

export function* mapsOf(object: Pointer): Generator<Pointer> {
	let map: Pointer = null;
	while (true) {
		map = libbpf().bpf_object__next_map(object, map);
		if (map === null) return;
		yield map;
	}
}

export function* programsOf(object: Pointer): Generator<Pointer> {
	let program: Pointer = null;
	while (true) {
		program = libbpf().bpf_object__next_program(object, program);
		if (program === null) return;
		yield program;
	}
}
