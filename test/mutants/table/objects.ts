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
		file: 'src/symbolize/symbols/memory-names.ts',
		from: 'nameIn(open, address - start + linked)',
		to: 'nameIn(open, address - start)',
		bug: 'a variable is named as if its file were linked where its code begins',
		test: 'live/wait-objects',
		only: 'a process that lives',
	},
	{
		id: 'O5',
		file: 'bpf/lib/wait_object_file.h',
		from: '\titem = (void *)first - bpf_core_field_offset(struct epitem___held, rdllink);\n',
		to: '\titem = (void *)BPF_CORE_READ(epoll, rbr.rb_root.rb_node) -\n\t\tbpf_core_field_offset(struct epitem___held, rbn);\n',
		bug: 'an epoll with several descriptors is said to have waited for one of them, whichever was ready',
		test: 'live/answers',
		only: 'epoll with two',
	},
	{
		id: 'O6',
		file: 'bpf/lib/wait_object_ends.h',
		from: 'object->listener = wanted_end(here, place, END_LISTENER);',
		to: 'object->listener = 0;',
		bug: 'who listens, and takes no connection, is not at the other end of a thread that cannot connect',
		test: 'live/connections',
		only: 'who cannot connect',
	},
];
