/** The documents by name. A bundle has them in place of this file (scripts/build-steps/bundle.ts). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../../docs');

export const TEXTS: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => [name.slice(0, -'.md'.length), readFileSync(join(FOLDER, name), 'utf8')]),
);
