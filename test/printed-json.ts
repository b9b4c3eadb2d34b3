/** Whether what a command prints with `--json` is as it is promised (src/commands/json). */
import * as z from 'zod';
import { COMMANDS } from '../src/commands/index.ts';
import { ERROR, OUTPUTS } from '../src/commands/json/index.ts';

export interface Printed {
  readonly code: number;
  readonly out: string;
}

/** Throws when `paddlet <argv>` printed what its schema does not have; nothing to check without `--json`. */
export function checkPrinted(argv: readonly string[], { code, out }: Printed): void {
  const words = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined);
  const says = (...flags: string[]): boolean => words.some((word) => flags.includes(word));
  if (!says('--json', '-j') || says('--help', '-h', 'help', '--schema')) return;
  const id = commandIn(words);
  const lines = out.split('\n').filter((line) => line !== '');
  // Scores, in the format that is asked for.
  const isText = id === 'predict' && !says('--output', '-o') && !says('jsonl');
  for (const line of isText ? lines.filter((one) => one.startsWith('{"error":')) : lines) {
    const printed: unknown = JSON.parse(line);
    const failed = ERROR.safeParse(printed);
    if (failed.success && failed.data.error.exit === code) continue;
    const schema = id === undefined ? ERROR : OUTPUTS[id];
    if (schema === undefined) throw new Error(`paddlet ${argv.join(' ')}: no schema for ${line}`);
    const parsed = schema.safeParse(printed);
    if (!parsed.success) throw new Error(`paddlet ${argv.join(' ')}: ${reasonOf(parsed.error)}\nin ${line}`);
  }
}

/** The longest run of leading words that names a command. */
function commandIn(words: readonly string[]): string | undefined {
  const ids = [words.slice(0, 2).join(':'), words[0]];
  return ids.find((id) => COMMANDS.some((entry) => entry.id === id));
}

/** Of a union: of the alternative that comes nearest. */
function reasonOf(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  if (issue?.code !== 'invalid_union' || issue.errors.length === 0) return z.prettifyError(error);
  const nearest = issue.errors.reduce((best, one) => (one.length < best.length ? one : best));
  return `${issue.path.join('.')}: ${reasonOf(new z.core.$ZodError([...nearest]))}`;
}
