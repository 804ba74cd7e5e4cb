/** Gives the threads of this machine to a scheduler of the class sched_ext: test/bpf/fifo.bpf.c. */
import { join } from 'node:path';
import { failure, libbpf, libbpfFunction, type Pointer } from '../../src/loader/ffi.js';
import { textOf } from '../../src/text-of.js';

const OBJECT = join('build/test-bpf', process.arch, 'fifo.bpf.o');
const STATE = '/sys/kernel/sched_ext/state';

/** It has them until this process ends, or the kernel takes them away. Throws where the kernel has no such class. */
export function schedule(): void {
	const attach = libbpfFunction('void *bpf_map__attach_struct_ops(const void *map)') as (
		map: Pointer,
	) => Pointer;
	const find = libbpfFunction(
		'void *bpf_object__find_map_by_name(const void *object, const char *name)',
	) as (object: Pointer, name: string) => Pointer;
	const object = libbpf().bpf_object__open_file(OBJECT, null);
	if (object === null) throw new Error(`cannot open ${OBJECT}: ${failure()}`);
	const result = libbpf().bpf_object__load(object);
	if (result < 0) throw new Error(`cannot load ${OBJECT}: ${failure(result)}`);
	if (attach(find(object, 'fifo')) === null) throw new Error(`cannot schedule: ${failure()}`);
	if (!schedules()) throw new Error('the kernel took the threads away at once');
}

/** Whether a scheduler of that class has the threads. */
export const schedules = () => textOf(STATE)?.trim() === 'enabled';
