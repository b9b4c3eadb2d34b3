/**
 * Writes docs/output.schema.json: what commands print with `--json` (`npm run build:output-schema`). The result is in
 * git; a test compares it.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { outputJsonSchema } from './output-schema/index.ts';

const path = fileURLToPath(new URL('../docs/output.schema.json', import.meta.url));
writeFileSync(path, `${JSON.stringify(outputJsonSchema(), null, 2)}\n`);
