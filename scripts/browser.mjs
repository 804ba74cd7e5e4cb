// Compiles src/browser, what runs inside pictures and pages, into strings: src/generated/browser.ts.
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
			// What is animated is set at once: see there.
			alias: { 'd3-transition': './src/browser/no-transition.ts' },
			// d3-flame-graph imports its own; the pages have their own instead.
			loader: entry.endsWith('.ts') ? { '.css': 'empty' } : undefined,
			logLevel: 'warning',
		});
		const compiled = outputFiles[0].text.trim();
		if (/<\/s(cript|tyle)|<!--|\]\]>/i.test(compiled)) throw new Error(`${entry} ends its element`);
		return { text: compiled, inputs: Object.keys(metafile.inputs) };
	};
	const parts = {
		svgScript: await text('svg/picture.ts'),
		svgStyle: await text('svg/style.css'),
		pageScript: await text('page/page.ts'),
		pageStyle: await text('page/style.css'),
	};
	mkdirSync('src/generated', { recursive: true });
	const exported = Object.entries(parts).map(
		([name, part]) => `export const ${name} = ${JSON.stringify(part.text)};\n`,
	);
	writeFileSync('src/generated/browser.ts', exported.join(''));
	return Object.values(parts).flatMap(({ inputs }) => inputs);
}
