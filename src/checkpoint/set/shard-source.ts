/** Where a shard is read from: one file, or a delta and the files that it builds on. */
import { PaddletError } from '../../base/errors.ts';
import { corrupt } from '../file/files.ts';
import type { ShardPosition } from '../file/format.ts';
import type { CheckpointReader } from '../file/reader.ts';

export interface ShardSource extends ShardPosition {
  /** The file that has its position, its ledger and its looks. */
  readonly reader: CheckpointReader;
  /** The files that its rows are read from, newest first. The last one has the whole shard. */
  readonly links: readonly CheckpointReader[];
  /** The file that has its dense blocks. */
  readonly blocksIn: CheckpointReader;
}

/**
 * Follows the parents of a shard. `parentOf` returns an open file by its name. Throws `CheckpointMissing` if a file is
 * missing that the shard builds on, and `CheckpointCorrupt` if that file has the shard after another update.
 */
export function followParents(
  reader: CheckpointReader,
  position: ShardPosition,
  parentOf: (uuid: string) => CheckpointReader | undefined,
): ShardSource {
  const links = [reader];
  let blocksIn: CheckpointReader | undefined;
  for (let [link, at] = [reader, position]; ; ) {
    const { parent } = at;
    // A delta has the blocks of a shard only if its position has changed.
    if (parent === undefined || parent.seq !== at.seq) blocksIn ??= link;
    if (parent === undefined) return { ...position, reader, links, blocksIn: blocksIn! };
    const next = parentOf(parent.uuid);
    if (next === undefined) throw missingParent(link, parent.uuid);
    const found = next.positionOf(position.shard);
    const isParent = found?.seq === parent.seq && found.epoch === at.epoch && parent.seq <= at.seq;
    if (!isParent || links.includes(next)) {
      const has = found === undefined ? 'does not have it' : `has it after update ${found.seq} of epoch ${found.epoch}`;
      throw corrupt(link.path, `shard ${at.shard} builds on update ${parent.seq} in ${parent.uuid}, which ${has}`);
    }
    links.push(next);
    [link, at] = [next, found];
  }
}

function missingParent({ path }: CheckpointReader, uuid: string): PaddletError {
  return new PaddletError('CheckpointMissing', `${path}: builds on ${uuid}, which is missing or damaged`, {
    hint: 'keep the files that a delta builds on in the same folder',
  });
}
