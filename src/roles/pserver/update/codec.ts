/**
 * Encodes an update as a header and segments, and decodes it (docs/protocol.md). The encoded segments share the
 * gradient arrays of the update. A decoded update uses the memory of its frame until `ownUpdate` copies it.
 */
import { unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';
import { blockCount, blockLength } from '../../../tensor/blocks.ts';
import type { DensePart, RoundGradients, SparsePart } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import type { Update } from './update.ts';

type MoveContent = Extract<RequestHeader, { type: 'moveFrame' }>['content'];
export type WireUpdate = Extract<MoveContent, { type: 'update' }>['update'];

/** The fields of a job that an update is checked against. */
export interface UpdatedJob {
  readonly spec: ParameterSpec;
  /** Number of tasks of a pass. */
  readonly tasks: number;
  readonly passes: number;
}

interface Encoded {
  readonly header: WireUpdate;
  readonly segments: readonly Uint8Array[];
}

/** Size of a shard number in the list of shards, in bytes. */
const SHARD_BYTES = 4;

export function encodeUpdate(update: Update): Encoded {
  switch (update.type) {
    case 'close':
      return { header: { type: 'close', tasks: [...update.tasks] }, segments: [] };
    case 'push': {
      const { type, push, rateScale } = update;
      const parts = partLists(update);
      const shards = new Uint8Array(new Uint32Array(update.shards).buffer);
      return {
        header: { type, ...positionOf(push), rateScale, ...parts },
        segments: [shards, ...gradientSegments(update)],
      };
    }
    case 'round': {
      const { type, timeline, round } = update;
      const batches = update.batches.map(({ position, metrics }) => ({ ...positionOf(position), metrics }));
      return {
        header: { type, timeline, round, batches, ...partLists(update) },
        segments: gradientSegments(update),
      };
    }
    default:
      return unreachable(update);
  }
}

/**
 * Returns the update. Its gradients are views of the segments. Throws `BadMessage` if the update does not fit the job,
 * or its gradients do not fit the model in number and size.
 */
export function decodeUpdate(job: UpdatedJob, header: WireUpdate, arrived: readonly Uint8Array[]): Update {
  const update = decoded(job, header, arrived);
  if (update.type !== 'close') checkGradients(job.spec, update);
  return update;
}

function decoded(job: UpdatedJob, header: WireUpdate, arrived: readonly Uint8Array[]): Update {
  switch (header.type) {
    case 'close':
      expectSegments(arrived.length, 0);
      for (const { pass, task } of header.tasks) checkTask(job, pass, task);
      return header;
    case 'push': {
      const { type, rateScale } = header;
      checkTask(job, header.pass, header.task);
      const [applying, ...gradients] = arrived;
      if (applying === undefined || applying.byteLength > SHARD_BYTES * LIMITS.shards) {
        throw bad('a push comes without the shards that applied it, or with more than there are');
      }
      const shards = numbersOf(u32Of(applying));
      return { type, push: positionOf(header), shards, rateScale, ...gradientsOf(header, gradients) };
    }
    case 'round': {
      const { type, timeline, round } = header;
      for (const { pass, task } of header.batches) checkTask(job, pass, task);
      const batches = header.batches.map(({ metrics, ...position }) => ({ position, metrics }));
      return { type, timeline, round, batches, ...gradientsOf(header, arrived) };
    }
    default:
      return unreachable(header);
  }
}

/** Throws `BadMessage` if the job does not have the task. */
export function checkTask(job: { readonly passes: number; readonly tasks: number }, pass: number, task: number): void {
  if (pass < job.passes && task < job.tasks) return;
  throw new PaddletError(
    'BadMessage',
    `pass ${pass}, task ${task}: the job has ${job.passes} passes of ${job.tasks} tasks`,
  );
}

/** Copies only these fields, because the argument may have more. */
const positionOf = ({ pass, task, push, last, good }: PushPosition): PushPosition => ({ pass, task, push, last, good });

// ---- gradients

const partLists = ({ dense, sparse }: RoundGradients) => ({
  dense: dense.map(({ parameter }) => ({ parameter })),
  sparse: sparse.map(({ table }) => ({ table })),
});

const gradientSegments = ({ dense, sparse }: RoundGradients): Uint8Array[] => [
  ...dense.flatMap(({ blocks, gradients }) => {
    return [new Uint8Array(blocks.buffer, blocks.byteOffset, blocks.byteLength), gradients];
  }),
  ...sparse.flatMap(({ ids, gradients }) => [ids, gradients]),
];

function gradientsOf(parts: ReturnType<typeof partLists>, arrived: readonly Uint8Array[]): RoundGradients {
  const { dense, sparse } = parts;
  expectSegments(arrived.length, 2 * (dense.length + sparse.length));
  const first = 2 * dense.length;
  return {
    dense: dense.map(({ parameter }, i) => {
      return { parameter, blocks: u32Of(arrived[2 * i]!), gradients: arrived[2 * i + 1]! };
    }),
    sparse: sparse.map(({ table }, i) => {
      return { table, ids: idsOf(arrived[first + 2 * i]!), gradients: arrived[first + 2 * i + 1]! };
    }),
  };
}

/** Throws `BadMessage` unless the number of segments is the expected one. */
export function expectSegments(count: number, expected: number): void {
  if (count !== expected) throw bad(`${count} segments, ${expected} expected`);
}

function u32Of(bytes: Uint8Array): Uint32Array {
  if (bytes.byteLength % 4 !== 0) throw bad('a list of shards or blocks is not a whole number of u32');
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** Uses a loop, which takes a third of the time of a spread, because every push needs this. */
function numbersOf(array: Uint32Array): number[] {
  const numbers: number[] = [];
  for (let at = 0; at < array.length; at++) numbers.push(array[at]!);
  return numbers;
}

function idsOf(bytes: Uint8Array): Uint8Array {
  if (bytes.byteLength % 8 !== 0) throw bad('a list of ids is not a whole number of u64');
  return bytes;
}

const ID_BYTES = 8;
const FLOAT_BYTES = 4;

// ---- checks of gradients against the model

/** Throws `BadMessage` unless the gradients fit the model in number and size. */
function checkGradients(spec: ParameterSpec, { dense, sparse }: RoundGradients): void {
  checkOnce(dense.map(({ parameter }) => parameter));
  checkOnce(sparse.map(({ table }) => table));
  for (const part of dense) checkBlocks(spec, part);
  for (const part of sparse) checkRows(spec, part);
}

function checkOnce(numbers: readonly number[]): void {
  if (new Set(numbers).size < numbers.length) throw bad('a parameter or table comes twice');
}

function checkBlocks({ dense }: ParameterSpec, { parameter, blocks, gradients }: DensePart): void {
  const spec = dense[parameter];
  if (spec === undefined) throw bad(`dense parameter ${parameter}: the model does not have it`);
  const count = blockCount(spec);
  let floats = 0;
  let previous = -1;
  for (const block of blocks) {
    if (block >= count || block <= previous) throw bad(`${spec.name}: block ${block} is not the next of ${count}`);
    floats += blockLength(spec, block);
    previous = block;
  }
  checkSize(spec.name, gradients, floats);
}

function checkRows({ sparse }: ParameterSpec, { table, ids, gradients }: SparsePart): void {
  const spec = sparse[table];
  if (spec === undefined) throw bad(`table ${table}: the model does not have it`);
  checkSize(spec.name, gradients, (ids.byteLength / ID_BYTES) * spec.width);
}

function checkSize(name: string, { byteLength }: Uint8Array, floats: number): void {
  if (byteLength === FLOAT_BYTES * floats) return;
  throw bad(`${name}: ${byteLength} bytes of gradients, ${FLOAT_BYTES * floats} expected`);
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);
