/**
 * `/forgotten/<index>`: files that an operator has given up (`paddlet checkpoint forget`), in a word to the pserver of
 * that index. It counts only for files that this pserver cannot find, and is under its lease: the next process has to
 * be told again.
 */
import * as z from 'zod';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import { UUID_PATTERN } from '../file/paths.ts';
import { readCut } from './cut.ts';
import { generationsOf, readEntry } from './entry.ts';
import { parsePartings } from './partings.ts';

const forgottenSchema = z.strictObject({
  files: z.array(z.string().regex(UUID_PATTERN)).max(LIMITS.forgottenFiles),
});

const parseForgotten = (key: string, found: Pick<KeyValue, 'value'> | undefined): readonly string[] =>
  found === undefined ? [] : parseStoreValue(forgottenSchema, key, found.value).files;

/** Throws `StoreValueInvalid`. */
export async function readForgotten(store: Store, key: string): Promise<ReadonlySet<string>> {
  return new Set(parseForgotten(key, await store.get(key)));
}

/**
 * Gives up all files that are published for the index: those of its entry and of parting snapshots and, in sync mode,
 * of the cuts. Tells every live pserver, since each of them may take the units that the files are of. Returns their
 * names. Throws `JobUnknown` when no pserver is alive, so that none waits for them, or when there has been none of that
 * index.
 */
export async function forgetFiles(store: Store, keys: Keys, index: number): Promise<string[]> {
  const { entries: claims } = await store.range({ prefix: keys.psPrefix });
  const files = await publishedFor(store, keys, index);
  if (files.length === 0 && !claims.some(({ key }) => key === keys.ps(index))) throw neverLived(index);
  let told = 0;
  for (const claim of claims) if (await tell(store, keys, claim, files)) told += 1;
  if (told > 0) return files;
  throw new PaddletError(
    'JobUnknown',
    `no pserver is running, so none can be told to continue without the checkpoint files of pserver ${index}`,
    {
      hint: 'start the pservers; if one then waits for lost files, run this command again',
    },
  );
}

const neverLived = (index: number): PaddletError =>
  new PaddletError('JobUnknown', `no pserver ${index} is running, and no checkpoint file is published for this index`);

async function publishedFor(store: Store, keys: Keys, index: number): Promise<string[]> {
  const { entry } = await readEntry(store, keys.checkpoint(index));
  const { cut } = await readCut(store, keys.cut);
  const ofCuts = [cut, cut.before].flatMap((one) => one?.files.filter((file) => file.index === index) ?? []);
  const { entries } = await store.range({ prefix: keys.partingPrefix });
  const partings = parsePartings(keys.partingPrefix, entries).filter((parting) => parting.index === index);
  const generations = [...(entry === undefined ? [] : generationsOf(entry)), ...partings.map((one) => one.generation)];
  return [...new Set([...generations, ...ofCuts].map(({ uuid }) => uuid))];
}

/** False if that pserver has lost its index. Files named before still count, but only the newest up to a limit. */
async function tell(store: Store, keys: Keys, claim: KeyValue, files: readonly string[]): Promise<boolean> {
  const key = keys.forgotten(Number(claim.key.slice(keys.psPrefix.length)));
  const before = parseForgotten(key, await store.get(key));
  const all = [...new Set([...before.filter((uuid) => !files.includes(uuid)), ...files])].slice(-LIMITS.forgottenFiles);
  try {
    const { succeeded } = await store.txn({
      if: [{ key: claim.key, createRevision: claim.createRevision }],
      then: [{ put: key, value: JSON.stringify({ files: all }), leaseId: claim.leaseId }],
    });
    return succeeded;
  } catch (error) {
    if (isPaddletError(error, 'LeaseGone')) return false;
    throw error;
  }
}
