/** What a command line of paddlet may have, from the table of commands: the same for all shells. */
import type { Command } from '@oclif/core';
import { groupsOf } from '../base/command-table.ts';
import { everyFlags } from '../base/flags.ts';
import { jobArg, modelArg, neededJobArg, pathArg } from '../base/named-job.ts';
import { takesPath } from '../base/path-values.ts';
import { TEXTS } from '../docs/texts.ts';

/** The values of a flag or an argument: names of files, these words, something that no shell knows, or none. */
export type Values = 'files' | 'unknown' | 'none' | readonly string[];

/** `jobs`: names of the jobs in ./.paddlet, and folders; `models`: the same and files. */
export type ArgValues = Values | 'jobs' | 'models';

export interface FlagWords {
  /** Names of the flag, with its dashes. */
  readonly names: readonly string[];
  readonly about: string;
  readonly values: Values;
}

export interface CommandWords {
  /** `data index`. */
  readonly name: string;
  readonly about: string;
  readonly flags: readonly FlagWords[];
  readonly args: ArgValues;
  /** Words that the arguments may be, beside `args`. */
  readonly words: readonly string[];
}

/** The words that may follow nothing, or the name of a group, each with what it is. */
export function nextWords(commands: readonly CommandWords[], group: string): { word: string; about: string }[] {
  const depth = group === '' ? 0 : group.split(' ').length;
  const found = new Map<string, string>();
  for (const { name, about } of commands) {
    const words = name.split(' ');
    if (words.slice(0, depth).join(' ') !== group || words.length === depth) continue;
    const word = words[depth]!;
    // A command may have commands below it, as `jobs` has: what it does itself says more.
    if (words.length === depth + 1) found.set(word, about);
    else if (!found.has(word)) found.set(word, `commands of ${word}`);
  }
  return [...found].map(([word, about]) => ({ word, about }));
}

/** '' and the groups that are not commands themselves: only a word of `nextWords` can follow them. */
export function menusOf(commands: readonly CommandWords[]): string[] {
  const names = commands.map(({ name }) => name);
  return ['', ...groupsOf(names).filter((group) => !names.includes(group))];
}

/** Values of arguments that the table of commands does not list. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  docs: Object.keys(TEXTS),
  jobs: ['delete'],
};

/** Arguments that may be the name of a job. */
const JOBS: ReadonlyMap<unknown, 'jobs' | 'models'> = new Map<unknown, 'jobs' | 'models'>([
  [jobArg.job, 'jobs'],
  [neededJobArg.job, 'jobs'],
  [modelArg.model, 'models'],
  [pathArg.path, 'models'],
]);
const LOGS = ['run', 'master', 'pserver', 'trainer'];

export async function commandWords(commands: readonly Command.Loadable[]): Promise<CommandWords[]> {
  return Promise.all(
    commands.map(async ({ id, summary = '', load }) => {
      const loaded = await load();
      const args = Object.values(loaded.args);
      const options = OPTIONS[id] ?? args.flatMap((arg) => arg.options ?? []);
      const named = args.map((arg) => JOBS.get(arg)).find((values) => values !== undefined);
      return {
        name: id.replaceAll(':', ' '),
        about: summary,
        flags: flagsOf(loaded),
        args: named ?? (options.length > 0 ? options : args.length > 0 ? 'files' : 'none'),
        words: id === 'logs' ? LOGS : [],
      };
    }),
  );
}

const HELP: FlagWords = { names: ['--help', '-h'], about: 'Show flags and examples', values: 'none' };

function flagsOf({ flags }: Command.Class): FlagWords[] {
  const own = Object.entries({ ...flags, ...everyFlags, ...flags }).map(([name, flag]): FlagWords => {
    const { char, description = '' } = flag;
    const options = 'options' in flag ? flag.options : undefined;
    const values = flag.type === 'boolean' ? 'none' : (options ?? (takesPath(flag) ? 'files' : 'unknown'));
    return {
      names: [`--${name}`, ...(char === undefined ? [] : [`-${char}`])],
      about: firstSentence(description),
      values,
    };
  });
  return [...own, HELP];
}

const firstSentence = (text: string): string => text.replace(/\.( [\s\S]*)?$/, '');
