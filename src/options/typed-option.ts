/** Options that know the type of their value. */
import { Option } from 'commander';

/** What commander hands over, by the option's name. */
export type RawValues = Readonly<Record<string, unknown>>;

/** An option, and what its value is: what its parser returns, or `otherwise` where it is not given. */
export class TypedOption<T> extends Option {
	constructor(
		flags: string,
		description: string,
		private readonly otherwise: T,
	) {
		super(flags, description);
	}

	/** Its value among those of all options. */
	valueIn(values: RawValues): T {
		return (values[this.attributeName()] as T | undefined) ?? this.otherwise;
	}
}

/** Options by the names that their values have, in the order of the help; undefined: not offered here. */
export type Options = Readonly<Record<string, TypedOption<unknown> | undefined>>;

/** The values of such options. */
export type ValuesOf<O extends Options> = {
	readonly [K in keyof O]: ValueOf<O[K]>;
};

type ValueOf<O> = O extends TypedOption<infer T> ? T : undefined;

/** Takes the values of these options out of all that commander hands over. */
export function valuesOf<O extends Options>(options: O, values: RawValues): ValuesOf<O> {
	const entries = Object.entries(options).map(([name, option]) => [name, option?.valueIn(values)]);
	return Object.fromEntries(entries);
}

/** Those of them that are offered. */
export function offered(options: Options): TypedOption<unknown>[] {
	return Object.values(options).filter((option) => option !== undefined);
}

/** Given or not. "--no-edges", "-n, --no-edges": true unless it is given. */
export function flag(flags: string, description: string): TypedOption<boolean> {
	return new TypedOption(flags, description, new Option(flags).negate);
}

/** A text as it is. */
export function textOption(flags: string, description: string): TypedOption<string | undefined> {
	return new TypedOption<string | undefined>(flags, description, undefined);
}

/** What `parse` returns, which throws InvalidArgumentError for what is not valid; undefined: not given. */
export function parsed<T>(
	flags: string,
	description: string,
	parse: (text: string) => T,
): TypedOption<T | undefined> {
	return new TypedOption<T | undefined>(flags, description, undefined).argParser(parse);
}

/** The same, and `otherwise` where it is not given; help shows that as it is, or as `shown`. */
export function parsedOr<T>(
	flags: string,
	description: string,
	parse: (text: string) => T,
	otherwise: T,
	shown?: string,
): TypedOption<T> {
	return new TypedOption(flags, description, otherwise).argParser(parse).default(otherwise, shown);
}

/** May be given several times: `parse` adds to what was there before. */
export function listed<T>(
	flags: string,
	description: string,
	parse: (text: string, before?: readonly T[]) => readonly T[],
): TypedOption<readonly T[]> {
	return new TypedOption<readonly T[]>(flags, description, []).argParser(parse);
}

/** One of these words; undefined: not given. */
export function oneOf<W extends string>(
	flags: string,
	description: string,
	words: readonly W[],
): TypedOption<W | undefined> {
	return new TypedOption<W | undefined>(flags, description, undefined).choices(words);
}

/** The same, and `otherwise` where it is not given. */
export function oneOfOr<W extends string>(
	flags: string,
	description: string,
	words: readonly W[],
	otherwise: W,
): TypedOption<W> {
	return new TypedOption(flags, description, otherwise).choices(words).default(otherwise);
}
