// Writes dist/main.cache: what V8 compiled of the bundle, and before it for which bundle and which node that
// is. With it tstrace starts some 40 ms sooner on a slow machine; bin/tstrace reads it.
const { readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, resolve } = require('node:path');
const { Script } = require('node:vm');

const file = resolve('dist/main.cjs');
const source = readFileSync(file, 'latin1');
const script = new Script(source, { filename: file });
const bundle = { exports: {} };
script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, dirname(file));

// What is compiled by now goes into the cache: what every run needs, not what only some do, as a larger
// cache takes longer to read.
bundle.exports.main(['runqlat', '--help']).then((status) => {
	if (status !== 0) throw new Error(`tstrace runqlat --help ends with status ${status}`);
	const { size, mtimeMs } = statSync(process.execPath);
	const maker = `${source.slice(-16)} ${process.version} ${process.arch} ${size} ${mtimeMs}`;
	const compiled = script.createCachedData();
	writeFileSync('dist/main.cache.new', Buffer.concat([Buffer.from(maker.padEnd(128)), compiled]));
	// Whole or not at all: V8 does not notice what is damaged.
	renameSync('dist/main.cache.new', 'dist/main.cache');
});
