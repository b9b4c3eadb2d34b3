/** Reads the parts of a pull or push as views of its segments, checks their shape, and reads the values of a pull. */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Received } from '../../../protocol/messages/channel.ts';
import { blockCount, blockLength } from '../../../tensor/blocks.ts';
import type { DensePart, SparsePart } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import type { ValueSource } from '../held/pre-image.ts';

interface PartList {
  readonly dense: readonly { readonly parameter: number }[];
  readonly sparse: readonly { readonly table: number }[];
}
export type PullRequest = Received<Extract<RequestHeader, { type: 'pull' | 'pullVersion' }>>;
export type PushRequest = Received<Extract<RequestHeader, { type: 'push' | 'pushLane' }>>;
type AnyRequest = PullRequest | PushRequest;

/**
 * Reads the segments of the answer, in the order of the request. Throws `BadMessage`, `UnknownParameter`, `WrongShard`,
 * and `FrameTooLarge` for values that no frame can hold: a pull of wide rows is far smaller than its answer.
 */
export function readValues(spec: ParameterSpec, from: ValueSource, request: PullRequest): Uint8Array[] {
  const wanted: WantedValues = { parts: request.header, first: 0 };
  checkSegments(request, countOf(wanted.parts));
  return valuesOf(from, request, wanted, checkWanted(spec, request, wanted));
}

/** The parts to pull, and the index of their first segment: in a push that carries a pull, it is not 0. */
interface WantedValues {
  readonly parts: PartList;
  readonly first: number;
}

const countOf = ({ dense, sparse }: PartList): number => dense.length + sparse.length;

/**
 * The pull that a push carries; undefined if it carries none. Makes the checks of `readValues` now, before the push is
 * applied. The caller reads the values with `read` after the push is applied. Throws the errors of `readValues`.
 */
export function pullOf(
  spec: ParameterSpec,
  request: PushRequest,
): { read(from: ValueSource): Uint8Array[] } | undefined {
  const { header } = request;
  if (header.type !== 'push' || header.pull === undefined) return undefined;
  const wanted: WantedValues = { parts: header.pull, first: 2 * countOf(header) };
  checkSegments(request, wanted.first + countOf(wanted.parts));
  const floats = checkWanted(spec, request, wanted);
  return { read: (from) => valuesOf(from, request, wanted, floats) };
}

/** Returns the number of floats of each part. */
function checkWanted(spec: ParameterSpec, request: AnyRequest, { parts, first }: WantedValues): number[] {
  const { dense, sparse } = parts;
  const floats: number[] = [];
  let total = 0;
  let at = first;
  for (const { parameter } of dense) {
    const count = denseFloats(spec, parameter, u32Segment(request, at++));
    floats.push(count);
    total += count;
  }
  for (const { table } of sparse) {
    const count = sparseFloats(spec, table, idSegment(request, at++));
    floats.push(count);
    total += count;
  }
  // Check all parts together before allocating memory for the first one.
  checkAnswerFits(4 * total);
  return floats;
}

function valuesOf(
  from: ValueSource,
  request: AnyRequest,
  { parts: { dense, sparse }, first }: WantedValues,
  floats: readonly number[],
): Uint8Array[] {
  return floats.map((count, i) => {
    const into = answerMemory(request, 4 * count);
    const part = i - dense.length;
    if (part < 0) from.pullDense(dense[i]!.parameter, u32Segment(request, first + i), into);
    else from.pullSparse(sparse[part]!.table, idSegment(request, first + i), into);
    return into;
  });
}

function checkAnswerFits(byteLength: number): void {
  const { frameBytes } = LIMITS;
  if (byteLength <= frameBytes) return;
  throw new PaddletError('FrameTooLarge', `expected an answer of at most ${frameBytes} bytes, got ${byteLength}`, {
    hint: 'pull fewer blocks or rows at a time',
  });
}

/** Views of the request's segments, valid as long as the segments are. */
export function gradientParts(request: PushRequest): { dense: DensePart[]; sparse: SparsePart[] } {
  const { header } = request;
  const { dense, sparse }: PartList = header;
  const wanted = header.type === 'push' && header.pull !== undefined ? countOf(header.pull) : 0;
  checkSegments(request, 2 * countOf(header) + wanted);
  const first = 2 * dense.length;
  return {
    dense: dense.map(({ parameter }, i) => {
      return { parameter, blocks: u32Segment(request, 2 * i), gradients: request.segment(2 * i + 1) };
    }),
    sparse: sparse.map(({ table }, i) => {
      return { table, ids: idSegment(request, first + 2 * i), gradients: request.segment(first + 2 * i + 1) };
    }),
  };
}

export function segmentBytes(request: Received<RequestHeader>): number {
  if (request.payloadBytes !== undefined) return request.payloadBytes;
  let bytes = 0;
  for (let i = 0; i < request.segmentCount; i++) bytes += request.segment(i).byteLength;
  return bytes;
}

/** Reuses memory of earlier answers if the network lends it: new memory costs more than the copy into it. */
const answerMemory = (request: AnyRequest, byteLength: number): Uint8Array =>
  request.answerMemory?.(byteLength) ?? new Uint8Array(byteLength);

function denseFloats({ dense }: ParameterSpec, parameter: number, blocks: Uint32Array): number {
  const spec = dense[parameter];
  if (spec === undefined) throw unknownParameter('dense parameter', parameter, dense.length);
  const count = blockCount(spec);
  let floats = 0;
  for (const block of blocks) {
    if (block >= count)
      throw new PaddletError('BadMessage', `block ${block} of ${spec.name}: the parameter has only ${count} blocks`);
    floats += blockLength(spec, block);
  }
  return floats;
}

function sparseFloats({ sparse }: ParameterSpec, table: number, ids: Uint8Array): number {
  const width = sparse[table]?.width;
  if (width === undefined) throw unknownParameter('table', table, sparse.length);
  return (ids.byteLength / 8) * width;
}

function checkSegments(request: Received<RequestHeader>, expected: number): void {
  if (request.segmentCount === expected) return;
  throw new PaddletError(
    'BadMessage',
    `'${request.header.type}': ${request.segmentCount} segments, ${expected} expected`,
  );
}

function u32Segment(request: Received<RequestHeader>, index: number): Uint32Array {
  const bytes = request.segment(index);
  if (bytes.byteLength % 4 !== 0) throw new PaddletError('BadMessage', `segment ${index}: not a whole number of u32`);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

function idSegment(request: Received<RequestHeader>, index: number): Uint8Array {
  const bytes = request.segment(index);
  if (bytes.byteLength % 8 !== 0) throw new PaddletError('BadMessage', `segment ${index}: not a whole number of u64`);
  return bytes;
}

function unknownParameter(what: string, number: number, count: number): PaddletError {
  return new PaddletError(
    'UnknownParameter',
    `${what} ${number} does not exist: the model has ${count}, numbered from 0`,
  );
}
