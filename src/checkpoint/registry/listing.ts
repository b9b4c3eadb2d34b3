/** `checkpoint ls`: the generations of each pserver, newest first, and the state of their files. Reads headers only. */
import { isPaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import type { Storage } from '../../base/seams.ts';
import { openFile } from '../file/files.ts';
import { type FileKind, fileKind, parseMetadata } from '../file/format.ts';
import { readSafetensors } from '../file/safetensors/reader.ts';
import type { PublishedEntry } from './discover.ts';
import type { FileRef } from './file-ref.ts';

export interface ListedGeneration {
  readonly index: number | undefined;
  readonly uuid: string | undefined;
  readonly path: string;
  /** 0 for the newest of its pserver. */
  readonly age: number;
  readonly bytes: number | undefined;
  readonly rows: number | undefined;
  readonly shards: number | undefined;
  /** Seconds since 1970. */
  readonly createdAt: number | undefined;
  readonly jobName: string | undefined;
  /**
   * `clean`: nothing was applied after it was written. `opened`: clean, but a pserver has served from it since.
   * `incompatible`: its format has another version than this executable reads.
   */
  readonly state: 'clean' | 'opened' | 'running' | 'incompatible' | 'damaged' | 'missing';
  readonly complaint: string | undefined;
  /** Undefined if the file cannot be read. */
  readonly kind: FileKind | undefined;
  /** Names of the files that a delta builds on. */
  readonly parents: readonly string[];
}

export interface ListOptions {
  readonly storage: Storage;
  readonly files: readonly FileRef[];
  /** What the store says of them. */
  readonly published?: readonly PublishedEntry[] | undefined;
  /** Names of the files that heads of units name as the last state. */
  readonly resting?: ReadonlySet<string> | undefined;
}

export async function listGenerations({
  storage,
  files,
  published,
  resting,
}: ListOptions): Promise<ListedGeneration[]> {
  const listed: ListedGeneration[] = [];
  for (const ref of files) listed.push(await listFile(storage, ref, resting));
  const byIndex = Map.groupBy(listed, ({ index }) => index ?? -1);
  return [...byIndex]
    .sort(([a], [b]) => a - b)
    .flatMap(([, group]) => {
      // As the store has them; without one, by time.
      const ordered = published === undefined ? group.sort((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0)) : group;
      // One file that was named is shown alone.
      const shown = files.length === 1 ? ordered : withBrokenChains(ordered);
      return shown.map((one, age) => ({ ...one, age }));
    });
}

const UNUSABLE: ReadonlySet<ListedGeneration['state']> = new Set(['damaged', 'missing', 'incompatible']);

/** A delta cannot be used without the files that it builds on. */
function withBrokenChains(group: readonly ListedGeneration[]): ListedGeneration[] {
  const byName = new Map(group.map((one) => [one.uuid, one]));
  const known = new Map<ListedGeneration, string | undefined>();
  /** Returns the name of a file that this one lacks. */
  const lackedBy = (one: ListedGeneration): string | undefined => {
    // A file that builds on itself is looked at once.
    if (!known.has(one)) known.set(one, undefined);
    else return known.get(one);
    for (const uuid of one.parents) {
      const parent = byName.get(uuid);
      const lacked = parent === undefined || UNUSABLE.has(parent.state) ? uuid : lackedBy(parent);
      if (lacked !== undefined) known.set(one, lacked);
    }
    return known.get(one);
  };
  return group.map((one) => {
    const lacked = UNUSABLE.has(one.state) ? undefined : lackedBy(one);
    if (lacked === undefined) return one;
    return { ...one, state: 'damaged', complaint: `builds on ${lacked}, which is missing or damaged` };
  });
}

async function listFile(
  storage: Storage,
  ref: FileRef,
  resting: ReadonlySet<string> | undefined,
): Promise<ListedGeneration> {
  const { path, index, uuid, published } = ref;
  const known = {
    path,
    index,
    uuid,
    age: 0,
    bytes: published?.bytes,
    rows: published?.rows,
    shards: undefined,
    createdAt: published?.timestamp,
    jobName: undefined,
    kind: undefined,
    parents: [],
  };
  try {
    return await withFile(await openFile(storage, path), async (file) => {
      const source = await readSafetensors(file, path);
      const facts = parseMetadata(source.metadata, path);
      if (published?.bytes !== undefined && published.bytes !== source.bytes) {
        const complaint = `has ${source.bytes} bytes, ${published.bytes} were published`;
        return { ...known, state: 'damaged' as const, complaint };
      }
      return {
        ...known,
        index: index ?? facts.index,
        uuid: facts.uuid,
        bytes: source.bytes,
        rows: facts.rows,
        shards: facts.shardsHere,
        createdAt: facts.createdAt,
        jobName: facts.jobName,
        kind: fileKind(facts),
        parents: published?.parents ?? facts.parents ?? [],
        state: !facts.clean ? 'running' : (resting?.has(facts.uuid) ?? true) ? 'clean' : 'opened',
        complaint: undefined,
      };
    });
  } catch (error) {
    if (isPaddletError(error, 'VersionMismatch')) return { ...known, state: 'incompatible', complaint: error.message };
    if (isPaddletError(error, 'CheckpointMissing')) return { ...known, state: 'missing', complaint: error.message };
    if (isPaddletError(error, 'CheckpointCorrupt')) return { ...known, state: 'damaged', complaint: error.message };
    throw error;
  }
}
