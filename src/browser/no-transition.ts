/**
 * Stands in for d3-transition: what d3-flame-graph wants to animate is set at once. An animation has
 * several timers for each box, and of ten thousand boxes none would be seen moving.
 */
import { selection } from 'd3-selection';

function itself<T>(this: T): T {
	return this;
}

Object.assign(selection.prototype, {
	transition: itself,
	duration: itself,
	delay: itself,
	ease: itself,
});
