/**
 * `modelDigest` and `stateDigest`: SHA-256 over all values, and over all optimizer state, in canonical order: parameters
 * by name (bytewise), dense ones by element, tables by unsigned id (DESIGN §11). Independent of topology, since the
 * pservers' streams, each in id order, are merged. Format in docs/operations.md.
 */
import { createHash, type Hash } from 'node:crypto';
import { compareBytewise } from '../../data/place.ts';
import { blockShards } from '../../tensor/blocks.ts';
import type { DenseSpec, ParameterSpec, SparseSpec } from '../../tensor/spec.ts';
import type { PlacedPserver, Placement } from '../placement-view.ts';
import type { PserverGroup } from '../pserver-group.ts';

export interface Digests {
  readonly modelDigest: string;
  readonly stateDigest: string;
}

const PAGE_ROWS = 16_384;

export async function digestModel(
  group: PserverGroup,
  options: { spec: ParameterSpec; shards: number; signal: AbortSignal },
): Promise<Digests> {
  const { spec, shards, signal } = options;
  return group.withPlacement(
    'digest',
    async (placement) => {
      const model = createHash('sha256');
      const state = createHash('sha256');
      for (const [parameter, dense] of inNameOrder(spec.dense)) {
        await digestDense(group, placement, { parameter, dense, shards, model, state });
      }
      for (const [table, sparse] of inNameOrder(spec.sparse)) {
        await digestTable(group, placement, { table, sparse, model, state });
      }
      return { modelDigest: model.digest('hex'), stateDigest: state.digest('hex') };
    },
    signal,
  );
}

function inNameOrder<T extends { readonly name: string }>(specs: readonly T[]): [number, T][] {
  return specs.map((spec, i): [number, T] => [i, spec]).sort(([, a], [, b]) => compareBytewise(a.name, b.name));
}

async function digestDense(
  group: PserverGroup,
  placement: Placement,
  of: { parameter: number; dense: DenseSpec; shards: number; model: Hash; state: Hash },
): Promise<void> {
  const { parameter, dense, model, state } = of;
  model.update(`dense ${dense.name} ${dense.shape.join('x')}\n`);
  state.update(`dense ${dense.name} ${dense.shape.join('x')}\n`);
  const owners = blockShards(dense, of.shards);
  for (let block = 0; block < owners.length; block++) {
    const owner = placement.pservers[placement.primaryOf[owners[block]!]!]!;
    const reply = await group.ask(owner, 'scanBlock', { parameter, block, state: true });
    try {
      model.update(reply.segment(0));
      for (let slot = 1; slot < reply.segmentCount; slot++) state.update(reply.segment(slot));
      state.update(u32(reply.header.step ?? 0));
    } finally {
      reply.free();
    }
  }
}

function u32(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

async function digestTable(
  group: PserverGroup,
  placement: Placement,
  of: { table: number; sparse: SparseSpec; model: Hash; state: Hash },
): Promise<void> {
  const { table, sparse, model, state } = of;
  model.update(`sparse ${sparse.name} ${sparse.width}\n`);
  state.update(`sparse ${sparse.name} ${sparse.width}\n`);
  const streams = await Promise.all(placement.pservers.map((pserver) => openStream(group, pserver, table)));
  const values = batched(model);
  const slots = batched(state);
  for (;;) {
    let lowest: RowStream | undefined;
    for (const stream of streams) {
      if (stream.id() !== undefined && (lowest === undefined || stream.id()! < lowest.id()!)) lowest = stream;
    }
    if (lowest === undefined) break;
    values.add(lowest.idBytes());
    values.add(lowest.values());
    slots.add(lowest.idBytes());
    for (const part of lowest.state()) slots.add(part);
    await lowest.next();
  }
  values.flush();
  slots.flush();
}

/** Feeds a hash in large pieces: one call a row would cost more than the hashing. */
function batched(hash: Hash): { add(bytes: Uint8Array): void; flush(): void } {
  const buffer = new Uint8Array(1 << 20);
  let used = 0;
  const flush = (): void => {
    hash.update(buffer.subarray(0, used));
    used = 0;
  };
  return {
    add(bytes) {
      if (used + bytes.length > buffer.length) flush();
      if (bytes.length > buffer.length) hash.update(bytes);
      else {
        buffer.set(bytes, used);
        used += bytes.length;
      }
    },
    flush,
  };
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
