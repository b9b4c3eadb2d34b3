/** Headers of pulls, pushes and answers as they may come, and the same with something odd in them. */
import * as fc from '../../properties.ts';

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
const text = fc.string({ minLength: 1, maxLength: 256 });
const job = { job: text, batchPlanId: text };
const revision = fc.nat().map(String);
const placement = { placement: fc.record({ revision, shards: small }) };
const both = { dense: parts('parameter'), sparse: parts('table') };
const version = fc.maxSafeNat();
const position = { pass: small, task: fc.maxSafeNat(), push: small, last: fc.boolean(), good: fc.maxSafeNat() };
const real = fc.double({ noNaN: true, noDefaultInfinity: true });
const metrics = fc.record({ records: small, weight: real, loss: real, correct: real, squaredError: real });

/** Some fields may be missing; those there are come in the order of the table. */
const message = (type: string, fields: Record<string, fc.Arbitrary<unknown>>, optional: readonly string[] = []) =>
  fc
    .record<Fields>(fields, { requiredKeys: Object.keys(fields).filter((field) => !optional.includes(field)) })
    .map((values) => ({ type, ...values }));

const hold = fc.record({ trainer: text, pushes: small, since: version }, { requiredKeys: ['trainer', 'pushes'] });
const used = fc.record({ revision, version });
const lane = { timeline: small, round: fc.maxSafeNat(), lane: fc.nat(4095) };
const owner = fc.record({ index: fc.nat(255), token: revision });
const placed = {
  type: fc.constant('push'),
  ...position,
  rateScale: fc.double({ min: 0.001, max: 1, noNaN: true }),
  ...both,
};
const replicate = {
  primary: owner,
  member: owner,
  left: fc.array(small, { maxLength: 30 }),
  order: version,
  late: fc.boolean(),
};
const outcome = (...of: string[]) => fc.constantFrom(...of);

/** With ordinary prototypes. */
const likeDecoded = (...headers: fc.Arbitrary<object>[]): fc.Arbitrary<Fields> =>
  fc.oneof(...headers).map((header) => structuredClone(header) as Fields);

export const requests = likeDecoded(
  message('pull', { ...job, ...placement, hold, ...both }, ['hold']),
  message('push', { ...job, ...position, ...placement, used, ...both, pull: fc.record(both) }, ['used', 'pull']),
  message('pullVersion', { ...job, timeline: small, version, maxWaitMs: fc.nat(60_000), ...placement, ...both }),
  message('pushLane', { ...job, ...lane, batch: fc.record(position), records: small, metrics, ...placement, ...both }, [
    'batch',
  ]),
  message('replicate', { ...job, ...replicate, update: fc.record(placed) }, ['update']),
);
export const replies = likeDecoded(
  message('pull', { version }),
  message('push', { outcome: outcome('applied', 'duplicate'), recovery: fc.maxSafeNat(), version }, ['version']),
  message('pullVersion', { waitedMs: small }),
  message('pushLane', { outcome: outcome('taken', 'duplicate'), version }),
  message('replicate', {}),
);
/** In the order of fields in which they are sent. */
export const inOrder = fc.oneof(requests, replies);

/** Somewhere in the header a field is gone, new, or odd. */
export const mangled = fc
  .tuple(fc.oneof(requests, replies), fc.nat(), fc.constantFrom('remove', 'add', 'set'), odd)
  .map(([header, n, how, value]) => {
    const copy = structuredClone(header);
    const places = [copy];
    for (const field of ['placement', 'used', 'hold', 'batch', 'metrics', 'pull', 'primary', 'member', 'update']) {
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
