/**
 * Models that are kept under a name, whatever the pservers keep. The key comes first and goes last (kept-key.ts), so
 * that no file of a manifest (manifest.ts) is ever deleted.
 */
import { PaddletError } from '../../base/errors.ts';
import type { Log, Random, Storage } from '../../base/seams.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Store } from '../../store/store.ts';
import { bytesOfFile } from '../file/files.ts';
import { checkpointPath } from '../file/paths.ts';
import { filesOfCut } from './cut.ts';
import { ancestorsOf, generationsOf } from './entry.ts';
import { encodeKept, filesOfKept, type Kept, type KeptFile } from './kept-key.ts';
import { type ManifestPlace, manifestFolder, manifestPath, putManifest } from './manifest.ts';
import type { PublishedFile } from './newest.ts';
import { type CheckpointKeys, type ReadCheckpointKeys, readCheckpointKeys } from './read-keys.ts';

/** The models of one job, and the master that keeps them. All calls may be repeated when the store did not answer. */
export interface KeptPlace extends ManifestPlace {
  readonly storage: Storage;
  readonly random: Pick<Random, 'uuid'>;
  readonly log: Pick<Log, 'warn'>;
  readonly store: Store;
  readonly keys: CheckpointKeys;
  /** Of the master's lock. */
  readonly fence: Fence;
}

/**
 * Keeps the files as the model of that name, in place of what had the name. Throws `CheckpointMissing` when one of them
 * has been replaced by a newer one, or is not in the folder; the errors of the storage; `LeaseGone`.
 */
export async function keepModelFiles(place: KeptPlace, name: string, files: readonly KeptFile[]): Promise<void> {
  const listed = withParents(await readKeys(place), files);
  await changeKept(place, (kept) => {
    const { models, released } = without(kept, name, listed);
    return { models: [...models, { name, files: listed }], released };
  });
  try {
    // A pserver that publishes from now on does not delete them; what it dropped before is no longer in its entry.
    await putManifest(place, name, await namedFiles(place, listed));
  } catch (error) {
    await removeKept(place, name);
    throw error;
  }
  await deleteReleased(place);
}

/** Also the files that deltas among them build on. */
function withParents({ published }: ReadCheckpointKeys, files: readonly KeptFile[]): KeptFile[] {
  const all = files.flatMap(({ index, uuid }) => {
    const entry = published.find((one) => one.index === index)?.entry;
    const known = entry === undefined ? [] : generationsOf(entry);
    const generation = known.find((one) => one.uuid === uuid);
    const parents = generation === undefined ? [] : ancestorsOf(generation, known);
    return [uuid, ...parents.map((parent) => parent.uuid)].map((name): KeptFile => ({ index, uuid: name }));
  });
  return [...new Map(all.map((file) => [file.uuid, file])).values()];
}

/** Without the model of that name: its files are released, but for those that `stay`. */
function without({ models, released }: Kept, name: string, stay: readonly KeptFile[] = []): Kept {
  const [former, others] = [models.filter((one) => one.name === name), models.filter((one) => one.name !== name)];
  const staying = new Set(stay.map(({ uuid }) => uuid));
  const files = [...released, ...former.flatMap((model) => model.files)].filter(({ uuid }) => !staying.has(uuid));
  return { models: others, released: [...new Map(files.map((file) => [file.uuid, file])).values()] };
}

/** Names of the models that are kept. */
export const keptNames = async (place: Pick<KeptPlace, 'store' | 'keys'>): Promise<string[]> =>
  (await readKeys(place)).kept.models.map(({ name }) => name);

/** No longer keeps the model of that name, and deletes its files that nothing else names. */
export async function removeKept(place: KeptPlace, name: string): Promise<void> {
  await place.storage.delete(manifestPath(place, name));
  await changeKept(place, (kept) => without(kept, name));
  await deleteReleased(place);
}

/** Removes all manifests of a job whose files are removed, too. */
export async function removeManifests({
  storage,
  ...place
}: ManifestPlace & Pick<KeptPlace, 'storage'>): Promise<void> {
  const folder = manifestFolder(place);
  await deleteBelow(storage, folder);
}

async function deleteBelow(storage: Storage, folder: string): Promise<void> {
  for (const { name, kind } of await storage.list(folder)) {
    if (kind === 'folder') await deleteBelow(storage, `${folder}/${name}`);
    else await storage.delete(`${folder}/${name}`);
  }
  await storage.delete(`${folder}/`);
}

async function readKeys({ store, keys }: Pick<KeptPlace, 'store' | 'keys'>): Promise<ReadCheckpointKeys> {
  const { entries } = await store.range({ prefix: keys.checkpointsPrefix });
  return readCheckpointKeys(keys, entries);
}

/** Only the master writes the key. */
const CONFLICT_ATTEMPTS = 10;

async function changeKept({ store, keys, fence }: KeptPlace, change: (kept: Kept) => Kept): Promise<void> {
  for (let conflicts = 0; conflicts < CONFLICT_ATTEMPTS; conflicts++) {
    const { modRevision, ...kept } = (await readKeys({ store, keys })).kept;
    const value = encodeKept(change(kept));
    if (value === encodeKept(kept)) return;
    const unchanged = [{ key: keys.kept, modRevision }];
    const { succeeded } = await fencedTxn(store, fence, { if: unchanged, then: [{ put: keys.kept, value }] });
    if (succeeded) return;
  }
  throw new PaddletError('StoreInvalid', `${keys.kept}: a process other than the master changed the key`);
}

/** As they are published, and are in the folder. */
async function namedFiles(place: KeptPlace, files: readonly KeptFile[]): Promise<PublishedFile[]> {
  const { folder, storage } = place;
  const { published } = await readKeys(place);
  const named: PublishedFile[] = [];
  for (const { index, uuid } of files) {
    const path = checkpointPath({ folder, index }, uuid);
    // A pserver that leaves is deleting its files.
    const entry = published.find((one) => one.index === index && one.entry.leaving !== true)?.entry;
    const generation = entry && generationsOf(entry).find((one) => one.uuid === uuid);
    if (generation === undefined) throw new PaddletError('CheckpointMissing', `${path}: a newer file has replaced it`);
    if ((await bytesOfFile(storage, path)) === undefined) {
      throw new PaddletError('CheckpointMissing', `${path}: no such file`, {
        hint: `with \`evaluation\`, the master must have the checkpoint folder of the pservers (${folder}): set checkpoint.dir to a shared folder`,
      });
    }
    named.push({ index, generation });
  }
  return named;
}

/**
 * Deletes the released files that nothing names, also those that a former master has left. A file that an entry still
 * names is deleted by its pserver. The files are deleted first, so the key says what is left.
 */
export async function deleteReleased(place: KeptPlace): Promise<void> {
  const read = await readKeys(place);
  const { released } = read.kept;
  if (released.length === 0 || !(await deleteUnnamed(place, read, released))) return;
  const done = new Set(released.map(({ uuid }) => uuid));
  await changeKept(place, (kept) => {
    return { models: kept.models, released: kept.released.filter(({ uuid }) => !done.has(uuid)) };
  });
  // Until this change, a pserver may have dropped one of them from its entry without deleting it.
  await deleteUnnamed(place, await readKeys(place), released);
}

/** Returns false, and deletes nothing, if an entry cannot be read. */
async function deleteUnnamed(
  place: KeptPlace,
  { published, complaints, cut, kept }: ReadCheckpointKeys,
  files: readonly KeptFile[],
): Promise<boolean> {
  // What an entry names that cannot be read is not known.
  if (complaints.length > 0) {
    place.log.warn(`files of former kept models stay for now: ${complaints.join('; ')}`);
    return false;
  }
  const named = new Set([
    ...published.flatMap(({ entry }) => generationsOf(entry).map(({ uuid }) => uuid)),
    ...filesOfKept({ ...kept, released: [] }),
    ...filesOfCut(cut.cut),
  ]);
  for (const { index, uuid } of files) {
    if (!named.has(uuid)) await place.storage.delete(checkpointPath({ folder: place.folder, index }, uuid));
  }
  return true;
}
