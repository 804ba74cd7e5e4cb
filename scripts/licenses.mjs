// The licences of all that is bundled, in full, as they ask for. What npm packages leave out, and what they
// have inside of others (crates in WebAssembly), is in licenses/parts.json. The build fails where a text
// is missing.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LINE = '-'.repeat(72);
/** How the text of each licence is known: some words of it. */
const WORDS = {
	'Apache-2.0': /Apache License\s+Version 2\.0.*END OF TERMS AND CONDITIONS/s,
	'BSD-2-Clause': /Redistribution and use in source and binary forms.*AS IS/s,
	'BSD-3-Clause': /Redistribution and use in source and binary forms.*Neither the name/s,
	ISC: /Permission to use, copy, modify, and\/or distribute.*AS IS/s,
	'LicenseRef-public-domain': /public domain/,
	MIT: /Permission is hereby granted, free of charge.*AS IS/s,
	'Unicode-3.0': /UNICODE LICENSE V3.*AS IS/s,
	Zlib: /provided 'as-is'.*3\. This notice may not be removed/s,
};

/** The names of crates whose sources a WebAssembly module names: in places of its panics. */
export function cratesIn(wasm) {
	const named = wasm.toString('latin1').matchAll(/([a-zA-Z][\w-]*)-\d+\.\d+\.\d+\/src\//g);
	return [...new Set([...named].map(([, name]) => name))].sort();
}

/** THIRD-PARTY.txt for these npm packages. Throws where it would not be whole. */
export function thirdParty(packages, modules = 'node_modules', committed = 'licenses') {
	const parts = JSON.parse(readFileSync(join(committed, 'parts.json'), 'utf8'));
	const stray = parts.find((part) => !packages.includes(part.in));
	if (stray) throw new Error(`${committed}/parts.json: ${stray.in} is not bundled`);
	const notices = [...packages].sort().flatMap((name) => {
		const inside = parts.filter((part) => part.in === name);
		const folder = join(modules, name);
		checkCrates(folder, inside);
		const own = ownTexts(folder, name);
		const others = inside.map((part) => partText(part, committed));
		checkLicense(folder, name, [...own, ...others].join('\n'));
		return [...own, ...others];
	});
	return notices.join(`\n${LINE}\n\n`);
}

/** Licence and notice that come with a package. */
function ownTexts(folder, name) {
	const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)([.-].*)?$/i.test(file));
	const texts = files
		.filter((file) => !file.endsWith('.csv'))
		.map((file) => `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`);
	return texts.length > 0 ? [`${name}\n${texts.join('')}`] : [];
}

function partText({ in: outer, name, license, copyright }, committed) {
	const file = join(committed, `${license}.txt`);
	if (!existsSync(file)) throw new Error(`${name}, inside ${outer}: there is no ${file}`);
	const text = readFileSync(file, 'utf8').trim();
	if (!WORDS[license]?.test(text)) throw new Error(`${file} is not the text of ${license}`);
	const title = name === outer ? name : `${name}, inside ${outer}`;
	return `${title}\n\n${copyright}\n\n${text}\n`;
}

/** One of the texts of an OR, all of an AND: what package.json says, which has no brackets within. */
function checkLicense(folder, name, texts) {
	const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
	if (!license) throw new Error(`${name} does not say its licence`);
	const there = (id) => {
		if (!WORDS[id]) throw new Error(`${name}: scripts/licenses.mjs does not know ${id}`);
		return WORDS[id].test(texts);
	};
	const all = license.replace(/[()]/g, '').split(' AND ');
	const missing = all.find((each) => !each.split(' OR ').some(there));
	if (missing) throw new Error(`${name}: the text of its licence (${missing}) is missing`);
}

function checkCrates(folder, inside) {
	for (const file of readdirSync(folder).filter((each) => each.endsWith('.wasm'))) {
		const unlisted = cratesIn(readFileSync(join(folder, file))).find(
			(crate) => !inside.some(({ name }) => name === crate),
		);
		if (unlisted) throw new Error(`licenses/parts.json: ${folder}/${file} has ${unlisted} inside`);
	}
}
