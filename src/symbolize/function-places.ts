/** The functions of runtimes in the frames of stacks. */
import type { CapturedStack } from '../aggregate/stack.js';
import type { FunctionWord, LanguageFunction } from '../runtimes/runtime.js';
import { Place } from './code-place.js';
import type { FunctionNames } from './function-names.js';
import { frameOf, type PlacedFrame } from './language-frames.js';
import type { AddressSpace } from './mappings/address-space.js';

export class FunctionPlaces {
	readonly #names: FunctionNames;
	/** Of the stacks at hand. */
	readonly #places = new Map<LanguageFunction, Place>();

	constructor(names: FunctionNames) {
		this.#names = names;
	}

	/** As FunctionNames. */
	take(): void {
		this.#names.take();
	}

	/** Other stacks come next. */
	forget(): void {
		this.#places.clear();
	}

	/** The functions that a walk has taken, each with the frame that runs it. `addresses`: as in `framesOf`. */
	placedIn(
		space: AddressSpace,
		addresses: readonly number[],
		taken: CapturedStack['functions'],
	): CapturedStack['functions'] {
		return taken && this.#names.placedIn(space, addresses, taken);
	}

	/**
	 * What a stack's frames run, to be asked for each: by where its code is, and its number. `addresses`: of all frames,
	 * leaf first, each within the instruction that is run. `functions`: by the number of the frame that runs them.
	 */
	framesOf(
		space: AddressSpace,
		addresses: readonly number[],
		functions: CapturedStack['functions'],
	): (code: Place, i: number) => PlacedFrame {
		return (code, i) => {
			const own = functions?.get(i);
			const address = addresses[i] as number;
			const call = i === 0 ? undefined : address;
			const words = own && this.#names.withInlined(space, call, own);
			if (words) return this.#withFunctions(space, code, words);
			return code.file ? { code } : this.#ofMadeCode(space, code, address);
		};
	}

	#withFunctions(space: AddressSpace, code: Place, words: readonly FunctionWord[]): PlacedFrame {
		const named = words.map((word) => this.#names.nameOf(space, word));
		const isUnread = named.includes('unread');
		if (!named.some((name) => typeof name !== 'string'))
			return isUnread ? { code, isUnread } : { code };
		const runs = named.flatMap((name) => {
			if (name === 'none') return [];
			return name === 'unread' ? [code] : [this.#placeOf(name)];
		});
		const isCallers = words.some((word) => word.isCallers);
		return isUnread ? { code, runs, isCallers, isUnread } : { code, runs, isCallers };
	}

	/** Of code in no file. */
	#ofMadeCode(space: AddressSpace, code: Place, address: number): PlacedFrame {
		const name = this.#names.madeAt(space, address);
		if (name === 'none') return { code };
		if (name === 'unread') return { code, isUnread: true };
		return { code, runs: [this.#placeOf(name)] };
	}

	#placeOf(named: LanguageFunction): Place {
		let place = this.#places.get(named);
		if (!place) {
			place = new Place(frameOf(named));
			this.#places.set(named, place);
		}
		return place;
	}
}
