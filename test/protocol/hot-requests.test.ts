/** What is recognized without the schema is what the schema accepts, unchanged. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPlainPullOrPush } from '../../src/protocol/hot-requests.ts';
import { requestSchema } from '../../src/protocol/messages.ts';

const small = fc.nat(3);
const odd = fc.constantFrom<unknown>(
  -1,
  -0,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  1024,
  1025,
  null,
  undefined,
  '',
  '7',
  'x'.repeat(257),
  '9'.repeat(21),
  '1٣',
  '5\n',
  true,
  [],
  {},
  [null],
  new Date(0),
);
const parts = (field: string) => fc.array(fc.record({ [field]: small }), { maxLength: 3 });
const shared = {
  job: fc.string({ minLength: 1, maxLength: 256 }),
  cut: fc.string({ minLength: 1, maxLength: 256 }),
  placement: fc.record({ revision: fc.nat().map(String), shards: small }),
  dense: parts('parameter'),
  sparse: parts('table'),
};
const pull = fc.record({ type: fc.constant('pull'), ...shared });
const push = fc.record({
  type: fc.constant('push'),
  ...shared,
  pass: small,
  task: fc.maxSafeNat(),
  push: small,
  last: fc.boolean(),
  good: fc.maxSafeNat(),
});
const pushUsed = fc
  .tuple(push, fc.record({ revision: fc.nat().map(String), version: fc.maxSafeNat() }))
  .map(([header, used]) => ({ ...header, used }));
const pullVersion = fc.record({
  type: fc.constant('pullVersion'),
  ...shared,
  timeline: small,
  version: fc.maxSafeNat(),
  maxWaitMs: fc.nat(60_000),
});
const real = fc.double({ noNaN: true, noDefaultInfinity: true });
const emptyLane = fc.record({
  type: fc.constant('pushLane'),
  ...shared,
  timeline: small,
  round: fc.maxSafeNat(),
  lane: fc.nat(4095),
  records: small,
  metrics: fc.record({ records: small, loss: real, correct: fc.maxSafeNat(), squaredError: real }),
});
const batch = fc.record({ pass: small, task: fc.maxSafeNat(), push: small, last: fc.boolean(), good: fc.maxSafeNat() });
const lane = fc.tuple(emptyLane, batch).map(([header, position]) => ({ ...header, batch: position }));
/** With ordinary prototypes, as decoded headers have. */
const valid = fc
  .oneof(pull, push, pushUsed, pullVersion, emptyLane, lane)
  .map((header) => structuredClone(header) as Record<string, unknown>);

/** Somewhere in the header a field is gone, new, or odd. */
const mangled = fc
  .tuple(valid, fc.nat(), fc.constantFrom('remove', 'add', 'set'), odd)
  .map(([header, n, how, value]) => {
    const copy = structuredClone(header);
    const places: Record<string, unknown>[] = [copy, copy.placement as Record<string, unknown>];
    for (const field of ['batch', 'metrics'] as const) {
      if (copy[field] !== undefined) places.push(copy[field] as Record<string, unknown>);
    }
    places.push(...(copy.dense as Record<string, unknown>[]), ...(copy.sparse as Record<string, unknown>[]));
    const place = places[n % places.length]!;
    const keys = Object.keys(place);
    const key = how === 'add' ? 'extra' : keys[n % keys.length]!;
    if (how === 'remove') delete place[key];
    else place[key] = value;
    return copy;
  });

describe('pulls and pushes recognized by hand', () => {
  it('are those that the schema accepts', () => {
    fc.assert(
      fc.property(valid, (header) => {
        expect(isPlainPullOrPush(header)).toBe(true);
        expect(requestSchema.parse(header)).toEqual(header);
      }),
    );
  });

  it('are none that the schema refuses', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(mangled, fc.anything()), (header) => {
        if (!isPlainPullOrPush(header)) {
          refused++;
          return;
        }
        expect(requestSchema.parse(header)).toEqual(header);
      }),
      { numRuns: 3000 },
    );
    expect(refused).toBeGreaterThan(1000);
  });

  it('leave no field out: one missing is refused', () => {
    fc.assert(
      fc.property(valid, fc.nat(), (header, n) => {
        const keys = Object.keys(header).filter((key) => key !== 'used' && key !== 'batch');
        const rest = { ...header };
        delete rest[keys[n % keys.length]!];
        expect(isPlainPullOrPush(rest)).toBe(false);
      }),
    );
  });
});
