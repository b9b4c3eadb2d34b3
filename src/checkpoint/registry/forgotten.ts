/**
 * `/forgotten/<index>`: files of a pserver that an operator has given up (`paddlet checkpoint forget`). It counts only
 * for files that the pserver cannot find, and is under the pserver's lease: the next process has to be told again.
 */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { UUID_PATTERN } from '../file/paths.ts';
import { readCut } from './cut.ts';
import { generationsOf, readEntry } from './entry.ts';

const forgottenSchema = z.strictObject({
  files: z.array(z.string().regex(UUID_PATTERN)).max(LIMITS.checkpointGenerations + 3),
});

/** Throws `StoreValueInvalid`. */
export async function readForgotten(store: Store, key: string): Promise<ReadonlySet<string>> {
  const found = await store.get(key);
  return new Set(found === undefined ? [] : parseStoreValue(forgottenSchema, key, found.value).files);
}

/**
 * Gives up all files that are published for the index: its entry's and, in sync mode, those of the cuts. Returns their
 * names. Throws `JobUnknown` when no pserver has the index, so that none waits for them.
 */
export async function forgetFiles(store: Store, keys: Keys, index: number): Promise<string[]> {
  const claim = await store.get(keys.ps(index));
  if (claim === undefined) throw notLive(index);
  const { entry } = await readEntry(store, keys.checkpoint(index));
  const { cut } = await readCut(store, keys.cut);
  const ofIndex = [cut, cut.before].flatMap((one) => one?.files.filter((file) => file.index === index) ?? []);
  const names = [...(entry === undefined ? [] : generationsOf(entry)), ...ofIndex].map(({ uuid }) => uuid);
  const files = [...new Set(names)];
  const { succeeded } = await store.txn({
    if: [{ key: keys.ps(index), createRevision: claim.createRevision }],
    then: [{ put: keys.forgotten(index), value: JSON.stringify({ files }), leaseId: claim.leaseId }],
  });
  if (!succeeded) throw notLive(index);
  return files;
}

const notLive = (index: number): PaddletError =>
  new PaddletError('JobUnknown', `no pserver has index ${index}: nothing waits for its checkpoint files`, {
    hint: 'start it; if it then waits for files that are lost, repeat this command',
  });
