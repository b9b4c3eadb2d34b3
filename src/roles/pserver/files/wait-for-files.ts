/**
 * A published file that cannot be found is not a damaged one: the folder may not be mounted yet, or this may be another
 * host than the one that has it, and no pserver there gives it (peer-disk.ts). To continue without it costs every
 * pserver work, or this one its state. So a pserver waits for it and says so, until it is found or an operator gives it
 * up (`paddlet checkpoint forget`).
 */
import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Disk } from '../../../base/seams.ts';
import { openFile, withFile } from '../../../checkpoint/file/files.ts';
import { checkpointPath, type FilePlace, indexFolder } from '../../../checkpoint/file/paths.ts';
import { readForgotten } from '../../../checkpoint/registry/forgotten.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { pauseOrAborted } from '../../../cluster/waiting.ts';

export interface FileWait {
  readonly context: RoleContext;
  /** Of this pserver. */
  readonly index: number;
  readonly folder: string;
  /** Ends the wait with `Interrupted`. */
  readonly waitSignal: AbortSignal;
  /** Told what is waited for, and undefined afterwards. */
  readonly onWaiting: (what: string | undefined) => void;
}

/** What is waited for, and what an operator can do about it. */
export interface WaitedFor {
  readonly files: string;
  readonly hint: string;
}

/** How often a waiting pserver repeats what it waits for. */
const REMIND_MS = 10_000;

/** An answer, or what is missing for one. `of`: in other files than those that the caller waits for. */
export type Look<T> = { readonly answer: T } | { readonly missing: string; readonly of?: WaitedFor };

/** Repeats `look` until it has an answer. `waitedFor`: the published files of this pserver unless others are named. */
export async function untilFound<T>(
  options: FileWait,
  look: () => Promise<Look<T>>,
  waitedFor: WaitedFor = filesOfPserver(options.index),
): Promise<T> {
  const { context, waitSignal, onWaiting } = options;
  const { clock, log } = context.host;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let { files, hint } = waitedFor;
  for (let failures = 0; ; failures++) {
    const looked = await look();
    if ('answer' in looked) {
      if (failures > 0) log.info(`no longer waiting for ${files}`);
      onWaiting(undefined);
      return looked.answer;
    }
    ({ files, hint } = looked.of ?? waitedFor);
    const what = `${files}: ${looked.missing}`;
    onWaiting(what);
    if (clock.monotonicMs() - toldAtMs >= REMIND_MS) {
      toldAtMs = clock.monotonicMs();
      log.error(`waiting for ${what}`, { hint });
    }
    await pauseOrAborted(clock, backoffMs(failures), waitSignal);
  }
}

export const filesOfPserver = (index: number): WaitedFor => ({
  files: `the checkpoint files of pserver ${index}`,
  hint:
    'mount the folder, or start this pserver where the files are (--dir, checkpoint.dir); if they are permanently lost, ' +
    `\`paddlet checkpoint forget --index ${index}\` continues without them`,
});

/** Undefined when at least one of the files can be opened; otherwise why none can. */
export async function whyUnseen(disk: Disk, place: FilePlace, uuids: readonly string[]): Promise<string | undefined> {
  const folder = indexFolder(place);
  let why = `${folder} does not have any of the ${uuids.length} published files`;
  for (const uuid of uuids) {
    const size = await sizeOf(disk, checkpointPath(place, uuid));
    if (typeof size === 'number' || size.is === 'damaged') return undefined;
    // The same would be said of all the others, each after a wait.
    if (size.is === 'outOfReach') return size.message;
    if (size.is === 'unreadable') why = size.message;
  }
  return (await isFolder(disk, folder)) ? why : `${folder} does not exist`;
}

export interface SizedFile {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Undefined when each of the files can be opened and has all of its bytes; otherwise why not. A shorter one is being
 * copied. `from`: the folder that they are in.
 */
export async function whyIncomplete(
  disk: Disk,
  from: string,
  files: readonly SizedFile[],
): Promise<string | undefined> {
  for (const { path, bytes } of files) {
    const size = await sizeOf(disk, path);
    if (typeof size === 'number') {
      if (size < bytes) return `${path} has ${size} of ${bytes} bytes`;
    } else if (size.is !== 'damaged') {
      return (await isFolder(disk, from)) ? size.message : `${from} does not exist`;
    }
  }
  return undefined;
}

interface Unopened {
  /** `outOfReach`: at another pserver, which does not answer. */
  readonly is: 'absent' | 'damaged' | 'unreadable' | 'outOfReach';
  readonly message: string;
}

/** In bytes, or why the file cannot be opened. */
async function sizeOf(disk: Disk, path: string): Promise<number | Unopened> {
  try {
    return await withFile(await openFile(disk, path), (file) => file.size());
  } catch (error) {
    if (isPaddletError(error, 'CheckpointCorrupt')) return { is: 'damaged', message: error.message };
    if (isPaddletError(error, 'CheckpointMissing')) {
      return { is: error.details.isOutOfReach === true ? 'outOfReach' : 'absent', message: error.message };
    }
    if (!(error instanceof Error) || !('code' in error)) throw error;
    return { is: 'unreadable', message: `${path} cannot be opened: ${error.message}` };
  }
}

async function isFolder(disk: Disk, path: string): Promise<boolean> {
  try {
    return (await disk.inspect(path)) !== undefined;
  } catch (error) {
    // What it may not look at exists.
    if (error instanceof Error && 'code' in error) return true;
    throw error;
  }
}

/**
 * The newest file was seen and then not found: it vanished with all others, as when the folder is not mounted any more,
 * or it is back. Otherwise it alone is gone, for good.
 */
export async function isAwayForNow(disk: Disk, place: FilePlace, [newest, ...others]: readonly string[]) {
  const isSeen = async (uuids: readonly string[]): Promise<boolean> =>
    (await whyUnseen(disk, place, uuids)) === undefined;
  return (await isSeen([newest!])) || others.length === 0 || !(await isSeen(others));
}

/** A file of that pserver is seen, or all of these are given up; otherwise what is missing. */
export async function lookForFiles(
  options: FileWait,
  index: number,
  uuids: readonly string[],
): Promise<'seen' | 'forgotten' | { readonly missing: string; readonly of: WaitedFor }> {
  const { context, folder } = options;
  const missing = await whyUnseen(context.host.disk, { folder, index }, uuids);
  if (missing === undefined) return 'seen';
  const forgotten = await forgottenFiles(options);
  return uuids.every((uuid) => forgotten.has(uuid)) ? 'forgotten' : { missing, of: filesOfPserver(index) };
}

/** Files that the operator has given up, in a word to this process. */
const forgottenFiles = ({ context, index }: FileWait): Promise<ReadonlySet<string>> =>
  retryStore(context, () => readForgotten(context.store, context.keys.forgotten(index)));
