// After a change to files of src, and to nothing else: compiles them for tests, and the bundle anew.
// usage: node scripts/recompile.mjs FILE...
import { bundle, compileForTests } from './compile.mjs';

await compileForTests(process.argv.slice(2));
await bundle();
