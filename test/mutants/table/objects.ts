/** What waits were for: the tools of waits. */
import type { Mutation } from '../mutation.js';

export const OF_OBJECTS: readonly Mutation[] = [
	{
		id: 'O1',
		file: 'src/bpf/wait-objects.ts',
		from: "const other = end === 'write' ? 'read' : 'write';",
		to: 'const other = end;',
		bug: 'a process that has the same end of a pipe is said to have the other one',
		test: 'live/wait-objects',
		only: 'a process that lives',
	},
	{
		id: 'O2',
		file: 'bpf/lib/wait_object_file.h',
		from: 'return here->file && is_held(here, place, BPF_CORE_READ(files, count.counter) != 1);',
		to: 'return here->file != 0;',
		bug: 'a thread is said to have waited for the file that its descriptor is by now',
		test: 'live/wait-objects',
		only: 'a process that lives',
	},
	{
		id: 'O3',
		file: 'bpf/lib/wait_object_ends.h',
		from: 'bool swapped = side == END_OTHER || side == END_LISTENER;',
		to: 'bool swapped = side == END_LISTENER;',
		bug: 'the socket that has the same addresses is looked for, and not the one that has them swapped',
		test: 'live/wait-objects',
		only: 'a process that lives',
	},
	{
		id: 'O4',
		file: 'src/symbolize/memory-names.ts',
		from: 'nameIn(open, address - start + linked)',
		to: 'nameIn(open, address - start)',
		bug: 'a variable is named as if its file were linked where its code begins',
		test: 'live/wait-objects',
		only: 'a process that lives',
	},
];
