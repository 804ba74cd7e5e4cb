/** Which format the name of a file asks for. */
import type { StackFormat } from '../render/formats.js';
import { UsageError } from './errors.js';

/** Throws UsageError for a picture of another kind than are drawn here. */
export function refuseOtherPictures(path = ''): void {
	const [, other] = /\.(png|jpe?g|gif|webp|pdf)$/.exec(path.toLowerCase()) ?? [];
	if (other !== undefined) {
		throw new UsageError(`there is no ${other}; pictures are .svg or .html, and of stacks only`);
	}
}

/** What a file's name asks for: "svg" of "offcpu.svg". Throws UsageError as above. */
export function stackFormatOfFile(path = ''): StackFormat | undefined {
	const name = path.toLowerCase();
	refuseOtherPictures(path);
	return ENDINGS.find(([end]) => name.endsWith(end))?.[1];
}

const ENDINGS: ReadonlyArray<readonly [string, StackFormat]> = [
	['.folded', 'folded'],
	['.svg', 'svg'],
	['.html', 'html'],
	['.pprof', 'pprof'],
	['.pb.gz', 'pprof'],
	['.speedscope.json', 'speedscope'],
];
