import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../source-files.ts';
import { parsePhrases } from './phrases.ts';

const LIST = 'test/tidy/style-words.txt';

export const STYLE_WORDS = parsePhrases(readFileSync(join(ROOT, LIST), 'utf8'), LIST);
