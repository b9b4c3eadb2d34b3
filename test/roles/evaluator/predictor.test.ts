/** Scores of records in their order, bad ones among them, whatever happens to the client. */
import { expect, test } from 'vitest';
import { assert } from '../../../src/base/assert.ts';
import { openForward } from '../../../src/data/bytes/packings/unpack.ts';
import { FORWARD_HEAD_BYTES } from '../../../src/data/formats/format.ts';
import { formatOf } from '../../../src/data/formats/registry.ts';
import { createModel } from '../../../src/model/registry.ts';
import { Predictor } from '../../../src/roles/evaluator/predictor.ts';
import { addTally, NO_TALLY, scoreGroup } from '../../../src/roles/evaluator/score-groups.ts';

const { signal } = new AbortController();

/** Weights that are the ids, no bias; it knows ids up to 9. */
const CLIENT: Parameters<Predictor['run']>[0] = {
  pull: async (lists) => ({
    dense: [Float32Array.of(0)],
    sparse: lists.map(({ ids, count }) =>
      Float32Array.from(new BigUint64Array(ids.slice().buffer, 0, count), (id) =>
        id === 99n ? Number.NaN : Number(id),
      ),
    ),
  }),
  knownIds: (_table, ids) => ids.filter((id) => id < 10n),
};

const MODEL = createModel({ type: 'lr', task: 'regression' }, { inputWidth: 0, classes: 0, fields: 0, seed: 1 });
const OPTIONS = { file: 'in', batchSize: 4096, inputWidth: 0, mayHaveWeight: false, fields: undefined, keep: [] };

/** Lines are scores or errors, as JSON. */
async function predictorOf(text: string, { wanted = Number.POSITIVE_INFINITY, atOnce = 1 } = {}) {
  async function* blocks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
  }
  const source = await openForward('in', blocks());
  const head = { bytes: await source.peek(FORWARD_HEAD_BYTES), isWhole: true };
  const reader = formatOf('libsvm').openForward!(head, { ...OPTIONS, columns: undefined, sliceBytes: 8 });
  const taken: string[] = [];
  const making = { now: 0, most: 0 };
  const predictor = new Predictor({
    parts: reader.parts(source),
    atOnce,
    async make(part, client, stop) {
      assert('bytes' in part, 'it is text');
      making.most = Math.max(making.most, ++making.now);
      let tally = NO_TALLY;
      let lines = '';
      for (const read of reader.read(part)) {
        const { group, tally: more } = await scoreGroup({ model: MODEL, outputs: 1 }, read, client, stop);
        for (let at = 0; at < group.records; at++)
          lines += `${JSON.stringify(group.errors.get(at) ?? group.scores[at])}\n`;
        tally = addTally(tally, more);
      }
      making.now -= 1;
      return { made: Buffer.from(lines), tally };
    },
    async take(lines) {
      taken.push(String(lines));
      return taken.length < wanted;
    },
  });
  const scores = (): unknown[] =>
    taken
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { predictor, scores, making };
}

test('a bad record and a score that is no number have an error, and keep their place', async () => {
  const { predictor, scores } = await predictorOf('0 1:2\n0 3:x\n0 4:1 5:1\n0 99:1\n0 2:1\nx\n');
  const tally = await predictor.run(CLIENT, signal);
  const notFinite = 'the score is not a finite number';
  expect(scores()).toEqual([
    2,
    expect.stringContaining('value "x"'),
    9,
    notFinite,
    2,
    expect.stringContaining('label'),
  ]);
  expect(tally).toMatchObject({ records: 6, bad: 3, features: 5, unknown: 1 });
  expect(tally.firstBad).toEqual([
    expect.stringMatching(/^in:2: value "x"/),
    `in, line 4: ${notFinite}`,
    expect.stringMatching(/^in:6: label "x"/),
  ]);
});

test('features that the model does not know are counted each time; a client that cannot tell counts none', async () => {
  const text = '0 1:2 77:1 10:1\n0 77:3\n';
  const told = await predictorOf(text);
  expect(await told.predictor.run(CLIENT, signal)).toMatchObject({ features: 4, unknown: 3 });
  const live = await predictorOf(text);
  expect(await live.predictor.run({ pull: CLIENT.pull }, signal)).toMatchObject({ features: 0, unknown: 0 });
});

test.each([1, 4])(
  'a client that fails loses no record: the next one goes on where it was (%d at once)',
  async (atOnce) => {
    const lines = Array.from({ length: 30 }, (_, at) => `0 ${at}:1\n`).join('');
    const { predictor, scores } = await predictorOf(lines, { atOnce });
    const gone = new Error('gone');
    let pulls = 0;
    const failing = {
      pull: (...of: Parameters<typeof CLIENT.pull>) => (++pulls > 7 ? Promise.reject(gone) : CLIENT.pull(...of)),
    };
    await expect(predictor.run(failing, signal)).rejects.toBe(gone);
    expect(scores().length).toBeLessThan(30);
    expect(await predictor.run(CLIENT, signal)).toMatchObject({ records: 30, bad: 0 });
    expect(scores()).toEqual(Array.from({ length: 30 }, (_, at) => at));
  },
);

test('several parts are made at once, and are taken in order, whichever is first', async () => {
  const { predictor, scores, making } = await predictorOf('0 1:1\n0 2:1\n0 3:1\n0 4:1\n', { atOnce: 3 });
  const third = Promise.withResolvers<void>();
  const pull: typeof CLIENT.pull = async (lists, stop) => {
    const values = await CLIENT.pull(lists, stop);
    const [id] = values.sparse[0]!;
    if (id === 3) third.resolve();
    // The first one waits for the third.
    if (id === 1) await third.promise;
    return values;
  };
  await predictor.run({ pull }, signal);
  expect(scores()).toEqual([1, 2, 3, 4]);
  expect(making.most).toBe(3);
});

test('it ends when no more are wanted', async () => {
  const { predictor, scores } = await predictorOf('0 1:1\n0 2:1\n0 3:1\n', { wanted: 2 });
  await predictor.run(CLIENT, signal);
  expect(scores()).toEqual([1, 2]);
});

test('an interrupted one ends, though nothing that makes its parts looks at the signal', async () => {
  const stopping = new AbortController();
  let made = 0;
  const predictor = new Predictor({
    parts: (async function* () {
      for (let group = 0; group < 10; group++) yield { group, from: 0, to: 1 };
    })(),
    atOnce: 2,
    make: async () => ({ made: [], tally: NO_TALLY }),
    async take() {
      if (++made === 3) stopping.abort();
      return true;
    },
  });
  await expect(predictor.run(CLIENT, stopping.signal)).rejects.toMatchObject({ code: 'Interrupted' });
  expect(made).toBe(3);
});
