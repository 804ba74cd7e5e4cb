/** Places in code before they have names: by what is mapped there. */
import { Place } from './code-place.js';
import type { Mapping } from './mappings/address-space.js';

/** Memory that nobody gave a name. */
export const NO_NAME = '[anon]';

/** The place at an address, or at an offset in a file; a new one has the name of the memory it is in. */
export function placeIn(
	places: Map<number, Place>,
	at: number,
	mapping: Mapping | undefined,
): Place {
	let place = places.get(at);
	if (!place) {
		place = new Place({ name: memoryName(mapping), kind: 'user' }, mapping?.file);
		if (!mapping) place.lacks = 'mapping';
		places.set(at, place);
	}
	return place;
}

/** "[heap]", "[anon:v8]"; "[anon]" for memory that has no name, "[unknown]" for none at all. */
function memoryName(mapping: Mapping | undefined): string {
	if (!mapping) return '[unknown]';
	return mapping.path.startsWith('[') ? mapping.path : NO_NAME;
}
