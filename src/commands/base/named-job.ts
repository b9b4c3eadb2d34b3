/** What a word on the command line names: a job, by its name or its folder, or the files of a model. */
import { statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { Args } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { defaultChroot } from '../../store/keys.ts';
import { HOME, hasStore, jobsAtHome, jobsIn, nearestHint, type WhereFlags } from './find-store.ts';
import { refuseEmpty } from './given-path.ts';
import type { TypedCommand } from './typed-command.ts';

export const jobArg = {
  job: Args.string({
    // Oclif would take what is piped in for the name.
    ignoreStdin: true,
    description:
      'Name of the job, or path of its folder. Default: the only job in ./.paddlet, or, if --store is given, in the store.',
  }),
};

/** The argument of a command that deletes: a default could delete the wrong job. */
export const neededJobArg = {
  job: Args.string({
    required: true,
    ignoreStdin: true,
    description: 'Name of the job, or path of its folder.',
  }),
};

export const modelArg = {
  model: Args.string({
    ignoreStdin: true,
    description:
      "Name of a job, or path of a job's folder, a checkpoint folder or a merged model. Default: the only job in ./.paddlet, or, if --store is given, in the store.",
  }),
};

/** The argument of commands that read checkpoints. */
export const pathArg = {
  path: Args.string({
    description:
      "Name of a job, or path of a job's folder, a checkpoint folder or a checkpoint file. Default: the only job in ./.paddlet, or, if --store is given, in the store.",
  }),
};

export type Named<T> = { readonly kind: 'job'; readonly flags: T } | { readonly kind: 'path'; readonly path: string };

type IsJob = (folder: string) => boolean;

/**
 * The flags with the job that the word names, for `findStore` and `findChroot`. Throws `JobUnknown` when there is
 * nothing of that name, `Usage` when the word is a file or names another job than the flags.
 */
export function namedJob<T extends WhereFlags>(
  word: string | undefined,
  flags: T,
  typed: TypedCommand,
  { isJob = hasStore, isAwaited = false }: { readonly isJob?: IsJob; readonly isAwaited?: boolean } = {},
): T {
  const found = named(word, flags, typed, { isJob, isAwaited, orElse: '' });
  if (found.kind === 'job') return found.flags;
  const { path } = found;
  const line = { ...typed, job: path };
  if (!statSync(path).isFile()) return inFolder(path, path, { ...flags, typed: line });
  throw new PaddletError('Usage', `expected the name or the folder of a job, got the file ${path}`, {
    hint: nearestHint(basename(path, extname(path)), jobsAtHome(isJob), line),
  });
}

/** The same, where the word may also be the path of a checkpoint folder or a merged model. */
export function namedModel<T extends WhereFlags>(word: string | undefined, flags: T, typed: TypedCommand): Named<T> {
  const found = named(word, flags, typed, {
    isJob: hasStore,
    isAwaited: false,
    orElse: ', and no checkpoint of that path',
  });
  if (found.kind === 'path') {
    for (const flag of ['dir', 'chroot'] as const) {
      refuseOther(found.path, flag, flags[flag], flags[flag] === undefined);
    }
  }
  return found;
}

interface Naming {
  readonly isJob: IsJob;
  /** A folder that does not exist yet may become that of the job. */
  readonly isAwaited: boolean;
  readonly orElse: string;
}

/** A name is that of a job, first of all: in the store of `--store`, otherwise in ./.paddlet. */
function named<T extends WhereFlags>(
  word: string | undefined,
  given: T,
  { command, words }: TypedCommand,
  { isJob, isAwaited, orElse }: Naming,
): Named<T> {
  const typed = { command, words, job: word };
  const flags = { ...given, typed };
  if (word === undefined) return { kind: 'job', flags };
  refuseEmpty([word], 'the name of the job');
  const found = statSync(word, { throwIfNoEntry: false });
  const isName = !word.includes('/') && word !== '.' && word !== '..';
  if (isName) refuseOther(word, 'chroot', flags.chroot, basename(flags.chroot ?? word) === word);
  if (isName && flags.store !== undefined && found?.isFile() !== true) {
    return { kind: 'job', flags: { ...flags, chroot: flags.chroot ?? defaultChroot(word) } };
  }
  if (isName && flags.dir !== undefined && (found === undefined || found.isDirectory())) {
    return { kind: 'job', flags: belowFolder(word, flags.dir, flags, { isJob, isAwaited }) };
  }
  const folders = [...(isName ? [join(HOME, word)] : []), word];
  const folder = folders.find(isJob) ?? (isAwaited && found === undefined ? folders[0] : undefined);
  if (folder !== undefined) return { kind: 'job', flags: inFolder(word, folder, flags) };
  if (found !== undefined) return { kind: 'path', path: word };
  throw new PaddletError('JobUnknown', `no job ${word} in ${resolve(HOME)}${orElse}`, {
    hint: nearestHint(word, jobsAtHome(isJob), typed),
  });
}

/** A name with --dir, which is the folder of that job, a folder of jobs, or a folder that has `.paddlet`. */
function belowFolder<T extends WhereFlags>(
  name: string,
  dir: string,
  flags: T,
  { isJob, isAwaited }: Pick<Naming, 'isJob' | 'isAwaited'>,
): T {
  const below = [join(dir, name), join(dir, HOME, name)].find(isJob);
  if (below !== undefined) return { ...flags, dir: below };
  // Several jobs can have one store.
  if (isJob(dir) || isAwaited) return { ...flags, chroot: flags.chroot ?? defaultChroot(name) };
  const jobs = [...jobsIn(dir, isJob), ...jobsIn(join(dir, HOME), isJob)];
  throw new PaddletError('JobUnknown', `no job ${name} in ${resolve(dir)}`, {
    hint: nearestHint(name, jobs, flags.typed),
  });
}

function inFolder<T extends WhereFlags>(word: string, folder: string, flags: T): T {
  refuseOther(word, 'dir', flags.dir, resolve(flags.dir ?? folder) === resolve(folder));
  return { ...flags, dir: folder };
}

function refuseOther(word: string, flag: 'dir' | 'chroot', value: string | undefined, isSame: boolean): void {
  if (isSame) return;
  throw new PaddletError('Usage', `${word} and --${flag} ${value} name different jobs`, {
    hint: `name the job once: leave out ${word} or --${flag}`,
  });
}
