import { addressText } from '../loader/address.js';
import type { NamedStack, RawStack } from './stack.js';
export type Notice = string;
export function noticeText(n: Notice): string { return n; }
export class Symbolizer {
	constructor(_h: unknown, _o: unknown) {}
	resolve(stacks: readonly RawStack[]): NamedStack[] {
		return stacks.map((s) => ({ kernel: Array.from(s.kernel, (a) => ({ name: addressText(a), kind: 'kernel' as const })), user: Array.from(s.user, (a) => ({ name: addressText(a), kind: 'user' as const })) }));
	}
	notices(): Notice[] { return []; }
}
