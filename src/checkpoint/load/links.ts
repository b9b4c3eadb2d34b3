/** Which files the shards of a delta are loaded from, one after the other. */
import { coveredShards } from '../file/coverage.ts';
import { corrupt } from '../file/files.ts';
import type { Generation } from '../registry/entry.ts';

/** A file, and what is loaded from it. */
export interface Link {
  readonly generation: Generation;
  /** Shards that are loaded whole. Undefined: all that the file has. */
  readonly whole: readonly number[] | undefined;
  /** Shards that links before have, of which the file has changes. */
  readonly changes: readonly number[];
}

/**
 * Returns the names of the files that a shard is loaded from: the file itself first, then those that it builds on. The
 * last one may be missing in `earlier`.
 */
export function chainsOf(tip: Generation, earlier: readonly Generation[] = []): (shard: number) => string[] {
  const files = new Map([tip, ...earlier].map((generation) => [generation.uuid, parentsIn(generation)]));
  return (shard) => {
    const chain: string[] = [];
    // A wrong entry could name a circle of files.
    const isNew = (uuid: string | undefined): uuid is string => uuid !== undefined && !chain.includes(uuid);
    for (let uuid: string | undefined = tip.uuid; isNew(uuid); uuid = files.get(uuid)?.(shard)) chain.push(uuid);
    return chain;
  };
}

interface LinkOptions {
  /** Files in the same entry that were published before it, newest first. */
  readonly earlier: readonly Generation[];
  /** Undefined means all shards of the file. */
  readonly shards: readonly number[] | undefined;
  /** For messages. */
  readonly path: string;
}

/** Returns the links, the file itself last. Throws `CheckpointCorrupt` if a file is missing that it builds on. */
export function linksOf(tip: Generation, { earlier, shards, path }: LinkOptions): Link[] {
  if (tip.parents === undefined || tip.parents.length === 0) return [{ generation: tip, whole: shards, changes: [] }];
  const chainOf = chainsOf(tip, earlier);
  const links = new Map<string, { readonly whole: number[]; readonly changes: number[] }>();
  for (const shard of shards ?? coveredShards(tip.shards ?? [])?.keys() ?? []) {
    const chain = chainOf(shard);
    for (const [at, uuid] of chain.entries()) {
      const link = links.get(uuid) ?? { whole: [], changes: [] };
      links.set(uuid, link);
      (at === chain.length - 1 ? link.whole : link.changes).push(shard);
    }
  }
  const files = [tip, ...earlier];
  const missing = [...links.keys()].find((uuid) => !files.some((file) => file.uuid === uuid));
  if (missing !== undefined) throw corrupt(path, `builds on ${missing}, which its entry does not list`);
  // Oldest first: a file builds on files that were published before it.
  return files
    .flatMap((generation) => {
      const link = links.get(generation.uuid);
      return link === undefined ? [] : [{ generation, ...link }];
    })
    .reverse();
}

/** Returns the name of the parent of a shard; undefined if the file has the shard whole, or not at all. */
function parentsIn({ shards, parents = [] }: Generation): (shard: number) => string | undefined {
  const covered = shards && coveredShards(shards);
  return (shard) => {
    const parent = covered?.get(shard)?.parent;
    return parent === undefined ? undefined : parents[parent];
  };
}
