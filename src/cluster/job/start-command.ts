/** The value of `/command`: how the job was started last, which is how it is resumed. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';

export const startCommandSchema = z.strictObject({
  /** The command as text to be pasted into a shell. */
  command: z.string().max(LIMITS.commandCharacters),
  folder: z.string().max(LIMITS.commandCharacters),
  host: z.string().max(LIMITS.nameCharacters),
});
export type StartCommand = Readonly<z.infer<typeof startCommandSchema>>;

export const parseStartCommand = (key: string, value: string): StartCommand =>
  parseStoreValue(startCommandSchema, key, value);

/** Words that a shell takes as they are stay so; all others are quoted. */
export const shellCommand = (words: readonly string[]): string =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
