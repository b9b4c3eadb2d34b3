/**
 * `modelDigest` and `stateDigest`: SHA-256 over all values, and over all optimizer state, in canonical order: first
 * dense parameters, then tables, each by name (bytewise); blocks by number, rows by unsigned id (docs/design.md §11).
 * Independent of topology, as long as its caller merges the shards. What goes into each, all numbers little-endian:
 *
 *   model: `dense NAME 3x5\n`, then the values of each block; `sparse NAME width\n`, then id and values of each row
 *   state: the same first lines; of each block its slots, by the names' order, and its update count (u32, 0 without
 *          one); of each row its id, its slots likewise and, where the optimizer counts, its update count (u32), and
 *          its `seen` (u32) in tables that have it. Then, of tables with candidates, `candidates NAME\n`, and id, count
 *          and `seen` of each
 */
import { createHash, type Hash } from 'node:crypto';
import type { TrainedTable } from '../../tensor/optimizer.ts';
import type { DenseSpec } from '../../tensor/spec.ts';
import { type StoredTable, storedTables } from '../../tensor/stored-tables.ts';

export interface Digests {
  readonly modelDigest: string;
  readonly stateDigest: string;
}

/** Fed in canonical order. Byte arrays are little-endian and may be reused once a call has returned. */
export interface ModelHasher {
  beginDense(spec: DenseSpec): void;
  /** `slots` in the order of their names. */
  block(values: Uint8Array, slots: readonly Uint8Array[], step: number | undefined): void;
  beginTable(table: Pick<StoredTable, 'kind' | 'name' | 'width'>): void;
  /** `state`: slots in the order of their names, then the update count and `seen` where there are any. */
  row(id: Uint8Array, values: Uint8Array, state: readonly Uint8Array[]): void;
  digests(): Digests;
}

/** Parameters with their places in the job, in the order of the digests. */
export function inNameOrder<T extends { readonly name: string }>(specs: readonly T[]): [number, T][] {
  return specs
    .map((spec, at): [number, T] => [at, spec])
    .sort(([, a], [, b]) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

/** Stored tables with their places among them, in the order of the digests. */
export function tablesInOrder(sparse: readonly TrainedTable[]): [number, StoredTable][] {
  const inOrder = inNameOrder(storedTables(sparse));
  const ofKind = (wanted: StoredTable['kind']): [number, StoredTable][] =>
    inOrder.filter(([, { kind }]) => kind === wanted);
  return [...ofKind('sparse'), ...ofKind('candidates')];
}

export function createModelHasher(): ModelHasher {
  const model = gathered(createHash('sha256'));
  const state = gathered(createHash('sha256'));
  const begin = (line: string): void => {
    const bytes = Buffer.from(line);
    model.add(bytes);
    state.add(bytes);
  };
  /** Whether the rows are of the model: candidates have state alone. */
  let isModel = true;
  return {
    beginDense: ({ name, shape }) => begin(`dense ${name} ${shape.join('x')}\n`),
    block(values, slots, step) {
      model.add(values);
      for (const slot of slots) state.add(slot);
      state.add(new Uint8Array(Uint32Array.of(step ?? 0).buffer));
    },
    beginTable({ kind, name, width }) {
      isModel = kind === 'sparse';
      if (isModel) begin(`sparse ${name} ${width}\n`);
      else state.add(Buffer.from(`candidates ${name}\n`));
    },
    row(id, values, parts) {
      if (isModel) {
        model.add(id);
        model.add(values);
      }
      state.add(id);
      for (const part of parts) state.add(part);
    },
    digests: () => ({ modelDigest: model.digest(), stateDigest: state.digest() }),
  };
}

/** Feeds a hash in large pieces: one call a row would cost more than the hashing. */
function gathered(hash: Hash): { add(bytes: Uint8Array): void; digest(): string } {
  const buffer = new Uint8Array(1 << 16);
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
    digest() {
      flush();
      return hash.digest('hex');
    },
  };
}
