/** The command line as it was typed, for hints that repeat it with the right job. */
import { shellCommand } from '../../cluster/job/start-command.ts';

export interface TypedCommand {
  /** `checkpoint`, `ls`. */
  readonly command: readonly string[];
  /** The words after the command. */
  readonly words: readonly string[];
  /** The word that names the job, if there is one. */
  readonly job?: string | undefined;
}

/** The same command about this job. */
export function commandFor(job: string, { command, words, job: named }: TypedCommand): string {
  const at = named === undefined ? -1 : words.indexOf(named);
  const all = at < 0 ? [job, ...words] : words.with(at, job);
  return `\`${shellCommand(['paddlet', ...command, ...all])}\``;
}

export const commandWith = (more: readonly string[], { command, words }: TypedCommand): string =>
  `\`${shellCommand(['paddlet', ...command, ...words, ...more])}\``;
