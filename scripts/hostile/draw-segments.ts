/** Segments for a drawn pull or push: mostly of the right shape, sometimes cut, repeated or of any length. */
import type { RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import { blockCount, blockLength } from '../../src/tensor/blocks.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import type { RequestDrawer } from './draw-request.ts';

const IDS = 8;
const ANY_BYTES = 100;

export function drawSegments(drawer: RequestDrawer, spec: ParameterSpec, header: RequestHeader): Uint8Array[] {
  switch (header.type) {
    case 'pull':
    case 'pullVersion':
      return partsOf(drawer, spec, header, false);
    case 'push':
    case 'pushLane':
      return partsOf(drawer, spec, header, true);
    case 'moveFrame':
      return frameSegments(drawer, spec, header.content);
    case 'replicate':
      return replicateSegments(drawer, spec, header);
    default:
      return drawer.below(10) === 0 ? [anyBytes(drawer)] : [];
  }
}

interface Parts {
  readonly dense: readonly { readonly parameter: number }[];
  readonly sparse: readonly { readonly table: number }[];
}

function partsOf(drawer: RequestDrawer, spec: ParameterSpec, parts: Parts, withGradients: boolean): Uint8Array[] {
  if (drawer.below(10) === 0) return Array.from({ length: drawer.below(5) }, () => anyBytes(drawer));
  const segments: Uint8Array[] = [];
  for (const { parameter } of parts.dense) {
    const dense = spec.dense[parameter];
    const blocks = dense === undefined ? [0] : [drawer.below(blockCount(dense))];
    segments.push(new Uint8Array(Uint32Array.from(blocks).buffer));
    const floats = dense === undefined ? 1 : blocks.reduce((sum, block) => sum + blockLength(dense, block), 0);
    if (withGradients) segments.push(gradients(drawer, floats));
  }
  for (const { table } of parts.sparse) {
    const ids = BigUint64Array.from({ length: drawer.below(IDS) }, () => BigInt(drawer.below(64)));
    segments.push(new Uint8Array(ids.buffer));
    if (withGradients) segments.push(gradients(drawer, ids.length * (spec.sparse[table]?.width ?? 1)));
  }
  return segments;
}

type FrameContent = Extract<RequestHeader, { type: 'moveFrame' }>['content'];

function frameSegments(drawer: RequestDrawer, spec: ParameterSpec, content: FrameContent): Uint8Array[] {
  if (content.type === 'piece') return Array.from({ length: drawer.below(5) }, () => anyBytes(drawer));
  return content.type === 'seal' ? [] : updateSegments(drawer, spec, content.update);
}

type Update = Extract<FrameContent, { type: 'update' }>['update'];

function updateSegments(drawer: RequestDrawer, spec: ParameterSpec, update: Update): Uint8Array[] {
  if (update.type === 'close') return [];
  const gradients = partsOf(drawer, spec, update, true);
  if (update.type === 'round') return gradients;
  const shards = Uint32Array.from({ length: drawer.below(5) }, () => drawer.below(64));
  return [new Uint8Array(shards.buffer), ...gradients];
}

type Replicate = Extract<RequestHeader, { type: 'replicate' }>;

/** Rows of frames and of tails: mostly of a kind that there is, with small numbers. */
function replicateSegments(drawer: RequestDrawer, spec: ParameterSpec, { update }: Replicate): Uint8Array[] {
  if (drawer.below(10) === 0) return Array.from({ length: drawer.below(5) }, () => anyBytes(drawer));
  const numbers = (count: number): bigint[] => Array.from({ length: count }, () => BigInt(drawer.below(4)));
  const frames = BigUint64Array.from(numbers(6 * drawer.below(4)));
  const tails = BigUint64Array.from(numbers(2 * drawer.below(3)));
  const staged = update === undefined ? [] : updateSegments(drawer, spec, update);
  return [new Uint8Array(frames.buffer), new Uint8Array(tails.buffer), ...staged];
}

/** Small, so that the model stays as good as it was; sometimes not a number at all. */
function gradients(drawer: RequestDrawer, floats: number): Uint8Array {
  const value = drawer.below(20) === 0 ? Number.NaN : 1e-9;
  return new Uint8Array(new Float32Array(floats).fill(value).buffer);
}

const anyBytes = (drawer: RequestDrawer): Uint8Array => new Uint8Array(drawer.below(ANY_BYTES)).fill(drawer.below(256));
