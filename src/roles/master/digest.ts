/**
 * The digests of the model as the pservers hold it: their streams, each in id order, are merged. What is hashed, and in
 * which order, is said in src/checkpoint/model-digest.ts.
 */
import { createModelHasher, type Digests, inNameOrder, type ModelHasher } from '../../checkpoint/model-digest.ts';
import { blockShards } from '../../tensor/blocks.ts';
import type { DenseSpec, ParameterSpec } from '../../tensor/spec.ts';
import type { PlacedPserver, Placement } from '../placement-view.ts';
import type { PserverGroup } from '../pserver-group.ts';

const PAGE_ROWS = 16_384;

export async function digestModel(
  group: PserverGroup,
  options: { spec: ParameterSpec; shards: number; signal: AbortSignal },
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
      for (const [table, sparse] of inNameOrder(spec.sparse)) {
        hasher.beginTable(sparse);
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
  const streams = await Promise.all(placement.pservers.map((pserver) => openStream(group, pserver, table)));
  for (;;) {
    let lowest: RowStream | undefined;
    for (const stream of streams) {
      if (stream.id() !== undefined && (lowest === undefined || stream.id()! < lowest.id()!)) lowest = stream;
    }
    if (lowest === undefined) return;
    hasher.row(lowest.idBytes(), lowest.values(), lowest.state());
    await lowest.next();
  }
}

interface RowStream {
  /** Of the row it stands at; undefined at the end. */
  id(): bigint | undefined;
  idBytes(): Uint8Array;
  values(): Uint8Array;
  state(): Uint8Array[];
  next(): Promise<void> | undefined;
}

interface Page {
  readonly ids: BigUint64Array;
  /** ids, values, then the state's columns: rows × bytes each. */
  readonly columns: readonly Uint8Array[];
  readonly done: boolean;
}

async function openStream(group: PserverGroup, pserver: PlacedPserver, table: number): Promise<RowStream> {
  let page = await readPage(group, pserver, table, undefined);
  let row = 0;
  const cell = (column: Uint8Array): Uint8Array => {
    const bytes = column.length / page.ids.length;
    return column.subarray(row * bytes, (row + 1) * bytes);
  };
  return {
    id: () => page.ids[row],
    idBytes: () => cell(page.columns[0]!),
    values: () => cell(page.columns[1]!),
    state: () => page.columns.slice(2).map(cell),
    next() {
      row += 1;
      if (row < page.ids.length || page.done) return undefined;
      return readPage(group, pserver, table, page.ids[row - 1]).then((next) => {
        page = next;
        row = 0;
      });
    },
  };
}

async function readPage(
  group: PserverGroup,
  pserver: PlacedPserver,
  table: number,
  after: bigint | undefined,
): Promise<Page> {
  const reply = await group.ask(pserver, 'scanRows', {
    table,
    maxRows: PAGE_ROWS,
    state: true,
    ...(after === undefined ? {} : { after: after.toString() }),
  });
  try {
    const columns = Array.from({ length: reply.segmentCount }, (_, i) => new Uint8Array(reply.segment(i)));
    const ids = new BigUint64Array(columns[0]!.buffer);
    return { ids, columns, done: reply.header.done };
  } finally {
    reply.free();
  }
}
