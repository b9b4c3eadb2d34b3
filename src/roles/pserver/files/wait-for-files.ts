/**
 * Waits for published files that cannot be found. A missing file is not a damaged one: its folder may not be mounted
 * yet, or the file may be on another host where no pserver serves it (peer-disk.ts). Continuing without the file would
 * cost every pserver work, or this pserver its state. So a pserver waits and logs this, until it finds the file or an
 * operator gives the file up (`paddlet checkpoint forget`).
 */
import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import { withFile } from '../../../base/files.ts';
import type { Storage } from '../../../base/seams.ts';
import { openFile } from '../../../checkpoint/file/files.ts';
import { checkpointPath, type FilePlace, indexFolder } from '../../../checkpoint/file/paths.ts';
import { readForgotten } from '../../../checkpoint/registry/forgotten.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { pauseOrAborted } from '../../../cluster/waiting.ts';

export interface FileWait {
  readonly context: RoleContext;
  /** Index of this pserver. */
  readonly index: number;
  readonly folder: string;
  /** Ends the wait with `Interrupted`. */
  readonly waitSignal: AbortSignal;
  /** Called with what the pserver waits for, and with undefined after the wait. */
  readonly onWaiting: (what: string | undefined) => void;
}

/** The files that the pserver waits for, and a hint for the operator. */
export interface WaitedFor {
  readonly files: string;
  readonly hint: string;
}

/** How often a waiting pserver logs what it waits for. */
const REMIND_MS = 10_000;

/** An answer, or the reason why it is missing. `of`: the files to wait for, if they differ from the caller's. */
export type Look<T> = { readonly answer: T } | { readonly missing: string; readonly of?: WaitedFor };

/** Repeats `look` until it has an answer. `waitedFor` defaults to the published files of this pserver. */
export async function untilFound<T>(
  options: FileWait,
  look: () => Promise<Look<T>>,
  waitedFor: WaitedFor = filesOfPserver(options.index),
): Promise<T> {
  const { context, waitSignal, onWaiting } = options;
  const { clock, log } = context.host;
  let loggedAtMs = Number.NEGATIVE_INFINITY;
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
    if (clock.monotonicMs() - loggedAtMs >= REMIND_MS) {
      loggedAtMs = clock.monotonicMs();
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

/** Undefined if at least one of the files is there, even a damaged one; otherwise why none can be opened. */
export async function whyUnseen(
  storage: Storage,
  place: FilePlace,
  uuids: readonly string[],
): Promise<string | undefined> {
  const folder = indexFolder(place);
  let why = `${folder} does not have any of the ${uuids.length} published files`;
  for (const uuid of uuids) {
    const size = await sizeOf(storage, checkpointPath(place, uuid));
    if (typeof size === 'number' || size.is === 'damaged') return undefined;
    // The other files would fail in the same way, each after a timeout.
    if (size.is === 'outOfReach') return size.message;
    if (size.is === 'unreadable') why = size.message;
  }
  return (await isEmpty(storage, folder)) ? `${folder} does not exist, or is empty` : why;
}

export interface SizedFile {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Undefined if each of the files has all of its bytes or is damaged; otherwise why not. A shorter file is probably
 * still being copied. `from`: the folder of the files.
 */
export async function whyIncomplete(
  storage: Storage,
  from: string,
  files: readonly SizedFile[],
): Promise<string | undefined> {
  for (const { path, bytes } of files) {
    const size = await sizeOf(storage, path);
    if (typeof size === 'number') {
      if (size < bytes) return `${path} has ${size} of ${bytes} bytes`;
    } else if (size.is !== 'damaged') {
      return (await isEmpty(storage, from)) ? `${from} does not exist, or is empty` : size.message;
    }
  }
  return undefined;
}

interface Unopened {
  /** `outOfReach`: the file is at another pserver, which does not serve it. */
  readonly is: 'absent' | 'damaged' | 'unreadable' | 'outOfReach';
  readonly message: string;
}

/** The size in bytes, or why the file cannot be opened. */
async function sizeOf(storage: Storage, path: string): Promise<number | Unopened> {
  try {
    return await withFile(await openFile(storage, path), (file) => file.size());
  } catch (error) {
    if (isPaddletError(error, 'CheckpointCorrupt')) return { is: 'damaged', message: error.message };
    if (isPaddletError(error, 'CheckpointMissing')) {
      return { is: error.details.isOutOfReach === true ? 'outOfReach' : 'absent', message: error.message };
    }
    if (!(error instanceof Error) || !('code' in error)) throw error;
    return { is: 'unreadable', message: `${path} cannot be opened: ${error.message}` };
  }
}

async function isEmpty(storage: Storage, folder: string): Promise<boolean> {
  try {
    return (await storage.list(folder)).length === 0;
  } catch (error) {
    // An error, such as a lack of permission, means that there is something.
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}

/**
 * For a newest file that was seen and then not found. True if all files have vanished, as after an unmount, or if the
 * newest file is back. False if only the newest file is missing: then it was removed permanently.
 */
export async function isAwayForNow(storage: Storage, place: FilePlace, [newest, ...others]: readonly string[]) {
  const isSeen = async (uuids: readonly string[]): Promise<boolean> =>
    (await whyUnseen(storage, place, uuids)) === undefined;
  return (await isSeen([newest!])) || others.length === 0 || !(await isSeen(others));
}

/** Whether a file of that pserver is seen, or the operator has given up all of them; else what is missing. */
export async function lookForFiles(
  options: FileWait,
  index: number,
  uuids: readonly string[],
): Promise<'seen' | 'forgotten' | { readonly missing: string; readonly of: WaitedFor }> {
  const { context, folder } = options;
  const missing = await whyUnseen(context.host.storage, { folder, index }, uuids);
  if (missing === undefined) return 'seen';
  const forgotten = await forgottenFiles(options);
  return uuids.every((uuid) => forgotten.has(uuid)) ? 'forgotten' : { missing, of: filesOfPserver(index) };
}

/** Files that the operator has given up for this index. */
const forgottenFiles = ({ context, index }: FileWait): Promise<ReadonlySet<string>> =>
  retryStore(context, () => readForgotten(context.store, context.keys.forgotten(index)));
