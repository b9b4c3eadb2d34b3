/** Whether what a command prints with `--json` is as it is promised (scripts/output-schema). */
import * as z from 'zod';
import { ERROR, OUTPUTS } from '../scripts/output-schema/index.ts';
import { commandNamed } from '../src/commands/index.ts';

export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Throws when `paddlet <argv>` printed what its schema does not have. Without `--json` only lines of JSON are compared
 * that another flag asks for.
 */
export function checkPrinted(argv: readonly string[], { code, out, err }: Printed): void {
  const words = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined);
  const says = (...flags: string[]): boolean => words.some((word) => flags.includes(word));
  if (says('--help', '-h', 'help', '--schema')) return;
  const id = commandIn(words);
  const isToFile = says('--output', '-o');
  const isInLines = says('jsonl') && !isToFile;
  if (!says('--json', '-j') && !isInLines) return;
  // Without a file the scores are printed, in the format that is asked for.
  const isCsv = id === 'predict' && !isToFile && !isInLines;
  const lines = out.split('\n').filter((line) => (isCsv ? line.startsWith('{"error":') : line !== ''));
  const summary = id === 'predict' ? err.split('\n').filter((line) => line.startsWith('{"job":')) : [];
  for (const line of [...lines, ...summary]) checkLine(id, line, code, `paddlet ${argv.join(' ')}`);
}

function checkLine(id: string | undefined, line: string, code: number, command: string): void {
  const printed: unknown = JSON.parse(line);
  const failed = ERROR.safeParse(printed);
  if (failed.success && failed.data.error.exit === code) return;
  const schema = id === undefined ? ERROR : OUTPUTS[id];
  if (schema === undefined) throw new Error(`${command}: no schema for ${line}`);
  const parsed = schema.safeParse(printed);
  if (!parsed.success) throw new Error(`${command}: ${reasonOf(parsed.error)}\nin ${line}`);
}

/** The longest run of leading words that names a command. */
function commandIn(words: readonly string[]): string | undefined {
  const named = [3, 2, 1].map((count) => commandNamed(words.slice(0, count).join(':')));
  return named.find((entry) => entry !== undefined)?.id;
}

/** Of a union: of the alternative that fails last, as it comes nearest. */
function reasonOf(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  if (issue?.code !== 'invalid_union' || issue.errors.length === 0) return z.prettifyError(error);
  const nearest = issue.errors.reduce((best, one) => (depthOf(one) > depthOf(best) ? one : best));
  return `${issue.path.join('.')}: ${reasonOf(new z.core.$ZodError([...nearest]))}`;
}

/** Fields that are unknown or missing at the top say that another alternative is meant. */
const depthOf = (issues: readonly z.core.$ZodIssue[]): number =>
  Math.max(
    ...issues.map((issue) => issue.path.length + ('errors' in issue ? Math.max(0, ...issue.errors.map(depthOf)) : 0)),
  ) / issues.length;
