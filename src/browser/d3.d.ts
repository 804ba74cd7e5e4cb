/** What is used of d3, which has no types of its own. */

declare module 'd3-selection' {
	export interface Selection {
		datum(): unknown;
		datum(data: unknown): Selection;
		call(action: (selection: Selection) => unknown): Selection;
	}
	export const selection: { readonly prototype: object };
	export function select(element: Element): Selection;
}

declare module 'd3-flame-graph' {
	import type { Selection } from 'd3-selection';

	/** A box with its place, in shares of the whole. */
	export interface FlameNode<T> {
		readonly data: T;
		readonly parent: FlameNode<T> | null;
		readonly children?: readonly FlameNode<T>[];
		readonly depth: number;
		readonly x0: number;
		readonly x1: number;
		descendants(): FlameNode<T>[];
	}

	export interface FlameGraph<T> {
		(selection: Selection): unknown;
		width(pixels: number): this;
		height(pixels: number): this;
		cellHeight(pixels: number): this;
		inverted(rootAtTop: boolean): this;
		minFrameSize(pixels: number): this;
		sort(compare: (a: FlameNode<T>, b: FlameNode<T>) => number): this;
		getName(name: (node: FlameNode<T>) => string): this;
		getValue(value: (data: T) => number): this;
		getChildren(children: (data: T) => readonly T[]): this;
		setLabelHandler(label: (node: FlameNode<T>) => string): this;
		setDetailsHandler(show: (label: string | null) => void): this;
		setColorMapper(colour: (node: FlameNode<T>) => string): this;
		update(): this;
	}

	export default function flamegraph<T>(): FlameGraph<T>;
}
