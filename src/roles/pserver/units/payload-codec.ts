/**
 * What frames of a move carry, as a header and segments: parts of the copy of a shard, and updates. Segments that are
 * sent are the payload's own arrays. Those of a piece that arrive are copied: a large payload comes in kernel memory,
 * which moves as rows are put in. Those of an update are borrowed, until `ownUpdate`.
 */
import { unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { RoundGradients } from '../../../tensor/parameters.ts';
import { checkTask } from '../checks.ts';
import type { CopyPiece, PieceHeader } from './copy-pieces.ts';
import type { ForwardedUpdate } from './forwarded-update.ts';
import type { MovePayload } from './outgoing-move.ts';

/** What a frame's header says of its content. */
export type FrameHeader = Extract<RequestHeader, { type: 'moveFrame' }>['content'];
type WirePiece = Extract<FrameHeader, { type: 'piece' }>['piece'];
export type WireUpdate = Extract<FrameHeader, { type: 'update' }>['update'];

/** Tasks that updates may name. */
export interface MovedTasks {
  /** Of a pass. */
  readonly tasks: number;
  readonly passes: number;
}

interface Encoded<H> {
  readonly header: H;
  readonly segments: readonly Uint8Array[];
}

// ---- pieces

export const encodePiece = ({ header, segments }: CopyPiece): Encoded<WirePiece> => ({
  header: header.part === 'rounds' ? { ...header, metrics: [...header.metrics] } : header,
  segments,
});

/** Throws `BadMessage`. */
export function decodePiece(header: PieceHeader, arrived: readonly Uint8Array[]): CopyPiece {
  const [fewest, most] = PIECE_SEGMENTS[header.part];
  if (arrived.length < fewest || arrived.length > most) {
    throw bad(`a piece '${header.part}' has ${arrived.length} segments, not ${fewest} to ${most}`);
  }
  const byteLength = sizeOf(arrived);
  if (byteLength > LIMITS.movePieceBytes) {
    throw bad(`a piece of a shard has ${byteLength} bytes, more than ${LIMITS.movePieceBytes}`);
  }
  return { header, segments: arrived.map(copyOf) };
}

/** A shard's number in a list of them. */
const SHARD_BYTES = 4;

/** Values, slots and update counts. */
const STATE_SEGMENTS = 1 + LIMITS.optimizerSlots + 1;
const PIECE_SEGMENTS: Readonly<Record<PieceHeader['part'], readonly [fewest: number, most: number]>> = {
  rows: [2, 1 + STATE_SEGMENTS],
  block: [1, STATE_SEGMENTS],
  oldRows: [2, 2],
  oldBlocks: [2, 2],
  rounds: [0, 0],
  ledger: [1, 1],
};

// ---- updates

export function encodeUpdate(update: ForwardedUpdate): Encoded<WireUpdate> {
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

/** Throws `BadMessage`. Gradients are views of what has arrived. */
export function decodeUpdate(job: MovedTasks, header: WireUpdate, arrived: readonly Uint8Array[]): ForwardedUpdate {
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

/** What is sent has these fields; where it comes from there may be more. */
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

/** With gradients in memory of its own. */
export const ownUpdate = (update: ForwardedUpdate): ForwardedUpdate =>
  update.type === 'close'
    ? update
    : {
        ...update,
        dense: update.dense.map((part) => {
          return { ...part, blocks: new Uint32Array(part.blocks), gradients: copyOf(part.gradients) };
        }),
        sparse: update.sparse.map((part) => ({ ...part, ids: copyOf(part.ids), gradients: copyOf(part.gradients) })),
      };

// ---- sizes

/** How much room a payload takes, on its way and while it waits. */
export function payloadBytes(payload: MovePayload): number {
  if ('header' in payload) return sizeOf(payload.segments);
  if (payload.type === 'close') return LISTED_BYTES * payload.tasks.length;
  const listed = payload.type === 'round' ? payload.batches.length : 1;
  return LISTED_BYTES * listed + sizeOf(gradientSegments(payload));
}

/** Of a task or a mini-batch in a header, about. */
const LISTED_BYTES = 64;

const sizeOf = (segments: readonly Uint8Array[]): number =>
  segments.reduce((sum, { byteLength }) => sum + byteLength, 0);

/** Throws `BadMessage`. */
export function expectSegments(count: number, expected: number): void {
  if (count !== expected) throw bad(`${count} segments, ${expected} expected`);
}

const copyOf = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

function u32Of(bytes: Uint8Array): Uint32Array {
  if (bytes.byteLength % 4 !== 0) throw bad('a list of shards or blocks is not a whole number of u32');
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** Each push has them: a loop takes a third of the time of a spread. */
function numbersOf(array: Uint32Array): number[] {
  const numbers: number[] = [];
  for (let at = 0; at < array.length; at++) numbers.push(array[at]!);
  return numbers;
}

function idsOf(bytes: Uint8Array): Uint8Array {
  if (bytes.byteLength % 8 !== 0) throw bad('a list of ids is not a whole number of u64');
  return bytes;
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);
