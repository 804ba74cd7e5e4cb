/** As much of JSON Schema (draft 7) as speedscope's schema needs. */

export interface JsonSchema {
	readonly $ref?: string;
	readonly type?: string;
	readonly const?: unknown;
	readonly enum?: readonly unknown[];
	readonly anyOf?: readonly JsonSchema[];
	readonly items?: JsonSchema;
	readonly properties?: Readonly<Record<string, JsonSchema>>;
	readonly required?: readonly string[];
	readonly definitions?: Readonly<Record<string, JsonSchema>>;
}

/** What does not hold: a line each. */
export function violations(value: unknown, schema: JsonSchema): string[] {
	return check(value, schema, schema, '$');
}

function check(value: unknown, schema: JsonSchema, root: JsonSchema, at: string): string[] {
	const { $ref, type, enum: choices, anyOf, required = [] } = schema;
	const found: string[] = [];
	if ($ref !== undefined) {
		const name = $ref.replace('#/definitions/', '');
		const definition = root.definitions?.[name];
		if (!definition) throw new Error(`no definition ${$ref}`);
		found.push(...check(value, definition, root, at));
	}
	if (type !== undefined && typeOf(value) !== type) found.push(`${at} is no ${type}`);
	if ('const' in schema && value !== schema.const) found.push(`${at} is not ${schema.const}`);
	if (choices && !choices.includes(value)) found.push(`${at} is none of ${choices}`);
	if (anyOf && !anyOf.some((each) => check(value, each, root, at).length === 0)) {
		found.push(`${at} is none of the schemas`);
	}
	for (const name of required) {
		if (!Object.hasOwn(Object(value), name)) found.push(`${at} has no ${name}`);
	}
	return [...found, ...checkInside(value, schema, root, at)];
}

function checkInside(value: unknown, schema: JsonSchema, root: JsonSchema, at: string): string[] {
	const { items, properties = {} } = schema;
	if (Array.isArray(value)) {
		return items ? value.flatMap((each, i) => check(each, items, root, `${at}[${i}]`)) : [];
	}
	if (typeOf(value) !== 'object') return [];
	return Object.entries(properties).flatMap(([name, each]) =>
		Object.hasOwn(value as object, name)
			? check((value as Record<string, unknown>)[name], each, root, `${at}.${name}`)
			: [],
	);
}

function typeOf(value: unknown): string {
	if (value === null) return 'null';
	return Array.isArray(value) ? 'array' : typeof value;
}
