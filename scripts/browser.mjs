// Compiles src/browser, what runs inside pictures, into strings: src/generated/browser.ts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** Returns the inputs of the bundles, for the notices of their licences. */
export async function buildBrowser() {
	const text = async (entry) => {
		const { outputFiles, metafile } = await build({
			entryPoints: [`src/browser/${entry}`],
			bundle: true,
			minify: true,
			write: false,
			metafile: true,
			format: entry.endsWith('.ts') ? 'iife' : undefined,
			target: ['chrome100', 'firefox100', 'safari15'],
			charset: 'ascii',
			legalComments: 'none',
			logLevel: 'warning',
		});
		return { text: outputFiles[0].text.trim(), inputs: Object.keys(metafile.inputs) };
	};
	const parts = { svgScript: await text('svg/picture.ts'), svgStyle: await text('svg/style.css') };
	mkdirSync('src/generated', { recursive: true });
	const exported = Object.entries(parts).map(
		([name, part]) => `export const ${name} = ${JSON.stringify(part.text)};\n`,
	);
	writeFileSync('src/generated/browser.ts', exported.join(''));
	return Object.values(parts).flatMap(({ inputs }) => inputs);
}
