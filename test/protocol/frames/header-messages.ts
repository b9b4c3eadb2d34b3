/** Headers of pulls, pushes and answers as they may come, and the same with something odd in them. */
import fc from 'fast-check';

type Fields = Record<string, unknown>;

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
  batchPlanId: fc.string({ minLength: 1, maxLength: 256 }),
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
const pullReply = fc.record({ type: fc.constant('pull'), version: fc.maxSafeNat() });
const pushReply = fc.record({
  type: fc.constant('push'),
  outcome: fc.constantFrom('applied', 'duplicate'),
  recovery: fc.maxSafeNat(),
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
/** With ordinary prototypes. */
const likeDecoded = (headers: fc.Arbitrary<object>): fc.Arbitrary<Fields> =>
  headers.map((header) => structuredClone(header) as Fields);

export const requests = likeDecoded(fc.oneof(pull, push, pushUsed, pullVersion, emptyLane, lane));
export const replies = likeDecoded(fc.oneof(pullReply, pushReply));
/** In the order of fields in which they are sent. */
export const asynchronous = likeDecoded(fc.oneof(pull, push, pushUsed, pullReply, pushReply));

/** Somewhere in the header a field is gone, new, or odd. */
export const mangled = fc
  .tuple(fc.oneof(requests, replies), fc.nat(), fc.constantFrom('remove', 'add', 'set'), odd)
  .map(([header, n, how, value]) => {
    const copy = structuredClone(header);
    const places = [copy];
    for (const field of ['placement', 'used', 'batch', 'metrics']) {
      if (copy[field] !== undefined) places.push(copy[field] as Fields);
    }
    for (const field of ['dense', 'sparse']) places.push(...((copy[field] ?? []) as Fields[]));
    const place = places[n % places.length]!;
    const keys = Object.keys(place);
    const key = how === 'add' ? 'extra' : keys[n % keys.length]!;
    if (how === 'remove') delete place[key];
    else place[key] = value;
    return copy;
  });
