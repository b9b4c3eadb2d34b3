/** Lines of a job file with their comments. */
import { visible } from '../../base/visible.ts';
import { cut } from '../data/inspection-text.ts';

const COMMENT_CHARACTERS = 114;
const LINE_CHARACTERS = 120;
/** Texts that need no quotes, and those that some readers of YAML take for other values. */
const PLAIN = /^[A-Za-z_/][\w./-]*$/;
const WORDS = /^(?:y|yes|n|no|on|off|true|false|null)$/i;

const scalar = (value: unknown): string =>
  typeof value === 'string' && PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);

/** A value on one line. Lists are texts of the data: all of them are quoted. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((text) => JSON.stringify(text)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return scalar(value);
  const fields = Object.entries(value).map(([key, field]) => `${scalar(key)}: ${inline(field)}`);
  return `{ ${fields.join(', ')} }`;
}

/** A comment alone. */
export const note = (depth: number, comment: string): string =>
  `${'  '.repeat(depth)}# ${cut(visible(comment), COMMENT_CHARACTERS - 2 * depth)}`;

/** `key: value # comment`; a long comment is above. */
export function line(depth: number, key: string, value: unknown, comment?: string): string {
  const indent = '  '.repeat(depth);
  const code = value === undefined ? `${scalar(key)}:` : `${scalar(key)}: ${inline(value)}`;
  if (comment === undefined) return `${indent}${code}`;
  const said = note(depth, comment).trimStart();
  const isLong = indent.length + code.length + said.length >= LINE_CHARACTERS;
  return isLong ? `${indent}${said}\n${indent}${code}` : `${indent}${code} ${said}`;
}
