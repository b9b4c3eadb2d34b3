/** Whatever comes in place of a batch is refused as such, or is a batch in every respect. */

import { expect, it } from 'vitest';
import { isPaddletError } from '../../../../src/base/errors.ts';
import { LIMITS } from '../../../../src/base/limits.ts';
import {
  type DecodedBatch,
  decodeAnswers,
  decodeBatch,
  encodeBatch,
  type ReplicateRequest,
} from '../../../../src/roles/pserver/replicas/replicate-codec.ts';
import * as fc from '../../../properties.ts';
import { drawnBatch, payloadOf } from './batches.ts';
import { arrived, FIELDS, JOB, OWN_ORDER } from './wire-rig.ts';

type Segments = readonly Uint8Array[];

/** Small numbers and the edges of rows, in the place of some u32. */
const word = fc.oneof(fc.nat(8), fc.constantFrom(2 ** 21, 2 ** 31, 2 ** 32 - 1));

const changed = (at: number, change: (segment: Uint8Array) => Uint8Array[]) => (segments: Segments) =>
  segments.flatMap((segment, index) => (index === at % segments.length ? change(segment.slice()) : [segment]));

const damage: fc.Arbitrary<(segments: Segments) => Segments> = fc.oneof(
  fc.tuple(fc.nat(12), fc.nat(200), word).map(([at, place, value]) =>
    changed(at, (segment) => {
      const words = new Uint32Array(segment.buffer, 0, Math.floor(segment.length / 4));
      if (words.length > 0) words[place % words.length] = value;
      return [segment];
    }),
  ),
  fc.tuple(fc.nat(12), fc.nat(60)).map(([at, less]) => changed(at, (segment) => [segment.subarray(less)])),
  fc.tuple(fc.nat(12), fc.uint8Array()).map(([at, bytes]) => changed(at, () => [bytes])),
  fc.nat(12).map((at) => changed(at, () => [])),
  fc.nat(12).map((at) => changed(at, (segment) => [segment, segment])),
);

type Fields = Partial<Pick<ReplicateRequest, 'order' | 'late' | 'left' | 'update'>>;

function decoded(header: ReplicateRequest, segments: Segments): DecodedBatch | undefined {
  try {
    return decodeBatch(JOB, arrived(header, segments), OWN_ORDER);
  } catch (error) {
    if (!isPaddletError(error, 'BadMessage')) throw error;
    return undefined;
  }
}

function expectWhole(came: DecodedBatch, header: ReplicateRequest, segments: Segments): void {
  const { batch, ...ends } = came;
  const units = batch.frames.map(({ link }) => link.unit);
  expect(new Set(units).size).toBe(units.length);
  const payload = payloadOf(batch);
  const staged = batch.frames.flatMap(({ link, frame }) => (frame.type === 'stage' ? [link.unit] : []));
  expect(payload?.units ?? []).toEqual(staged.sort((a, b) => a - b));
  if (header.update?.type === 'push') {
    const held = [...payload!.bytesByUnit.values()].reduce((sum, bytes) => sum + bytes, 0);
    // Nothing has come that the room does not count.
    expect(held).toBe(segments.slice(2).reduce((sum, { byteLength }) => sum + byteLength, 0));
  }
  payload?.own();
  const again = encodeBatch(FIELDS, ends, batch);
  expect(decodeBatch(JOB, arrived(again.header, again.segments), OWN_ORDER).batch.frames).toHaveLength(units.length);
}

it('a damaged batch is refused as one, or is one', () => {
  const fields: fc.Arbitrary<Fields> = fc.oneof(
    { weight: 4, arbitrary: fc.constant({}) },
    fc.record({ order: fc.nat(2) }),
    fc.record({ late: fc.boolean() }),
    fc.record({ left: fc.array(fc.nat(LIMITS.units - 1), { maxLength: 3 }) }),
    fc.constant({ update: undefined }),
  );
  const damages = fc.array(damage, { minLength: 1, maxLength: 2 });
  let taken = 0;
  fc.assert(
    fc.property(drawnBatch, fields, damages, ({ ends, batch }, other, all) => {
      const sent = encodeBatch(FIELDS, ends, batch);
      const header = { ...sent.header, ...other };
      if (header.update === undefined) delete header.update;
      const segments = all.reduce((before: Segments, one) => one(before), sent.segments!);
      const came = decoded(header, segments);
      if (came === undefined) return;
      taken += 1;
      expectWhole(came, header, segments);
    }),
    { numRuns: 300 },
  );
  // Some damage makes another batch.
  expect(taken).toBeGreaterThan(0);
});

it('bytes of any kind are refused as an answer, or are one', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 48 }), { maxLength: 2 }), (segments) => {
      try {
        const answers = decodeAnswers(arrived({ type: 'replicate' as const }, segments));
        expect(24 * answers.length).toBe(segments[0]!.byteLength);
      } catch (error) {
        if (!isPaddletError(error, 'BadMessage')) throw error;
      }
    }),
  );
});
