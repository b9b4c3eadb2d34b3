/**
 * The digests of the model as the pservers hold it: their streams, each in id order, are merged.
 * src/checkpoint/set/model-digest.ts defines what is hashed, and in which order.
 */
import {
  createModelHasher,
  type Digests,
  inNameOrder,
  type ModelHasher,
  tablesInOrder,
} from '../../checkpoint/set/model-digest.ts';
import type { PserverGroup } from '../../cluster/client/pserver-group.ts';
import { scanTable } from '../../cluster/client/row-stream.ts';
import type { Placement } from '../../cluster/placement/placement-view.ts';
import { blockShards } from '../../tensor/blocks.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';
import type { DenseSpec } from '../../tensor/spec.ts';

const PAGE_ROWS = 16_384;

export async function digestModel(
  group: PserverGroup,
  options: { spec: TrainedSpec; shards: number; signal: AbortSignal },
): Promise<Digests> {
  const { spec, shards, signal } = options;
  return group.withPlacement(
    'digest',
    async (placement) => {
      const hasher = createModelHasher();
      for (const [parameter, dense] of inNameOrder(spec.dense)) {
        hasher.beginDense(dense);
        await digestBlocks(group, placement, { parameter, dense, shards, hasher });
      }
      for (const [table, stored] of tablesInOrder(spec.sparse)) {
        hasher.beginTable(stored);
        await digestRows(group, placement, { table, hasher });
      }
      return hasher.digests();
    },
    signal,
  );
}

async function digestBlocks(
  group: PserverGroup,
  placement: Placement,
  of: { parameter: number; dense: DenseSpec; shards: number; hasher: ModelHasher },
): Promise<void> {
  const { parameter, dense, hasher } = of;
  const owners = blockShards(dense, of.shards);
  for (let block = 0; block < owners.length; block++) {
    const owner = placement.pservers[placement.primaryOf[owners[block]!]!]!;
    const reply = await group.ask(owner, 'scanBlock', { parameter, block, state: true });
    try {
      const slots = Array.from({ length: reply.segmentCount - 1 }, (_, slot) => reply.segment(slot + 1));
      hasher.block(reply.segment(0), slots, reply.header.step);
    } finally {
      reply.free();
    }
  }
}

async function digestRows(
  group: PserverGroup,
  placement: Placement,
  of: { table: number; hasher: ModelHasher },
): Promise<void> {
  const { table, hasher } = of;
  await scanTable(group, placement, { table, state: true, maxRows: PAGE_ROWS }, (row) => {
    hasher.row(row.idBytes(), row.values(), row.state());
    return undefined;
  });
}
