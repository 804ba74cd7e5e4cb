/** Writes docs/faults.md: `make faults-doc`. */
import { writeFileSync } from 'node:fs';
import { page } from './page.js';
import { FAULTS } from './table.js';

writeFileSync('docs/faults.md', page(FAULTS));
