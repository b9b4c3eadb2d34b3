/** The lines of a prediction have the scores that `evaluate` judges: the AUC of the file is the one that it tells. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPartMaker } from '../../../src/commands/predict/part-maker.ts';
import { openForward } from '../../../src/data/bytes/packings/unpack.ts';
import { FORWARD_HEAD_BYTES } from '../../../src/data/formats/format.ts';
import { evaluateFiles } from '../../../src/roles/evaluator/evaluate-files.ts';
import { type Made, Predictor } from '../../../src/roles/evaluator/predictor.ts';
import type { ScoreClient } from '../../../src/roles/evaluator/score-groups.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { testPlace } from '../../data/place.ts';
import { FakeClock } from '../../store/support.ts';
import { areaOf } from './area-of.ts';

/** Weights between −1 and 1. */
const CLIENT: ScoreClient = {
  pull: async (lists) => ({
    dense: [Float32Array.of(-0.1)],
    sparse: lists.map(({ ids, count }) =>
      Float32Array.from(new BigUint64Array(ids.slice(0, 8 * count).buffer), (id) => (Number(id) % 9) / 4 - 1),
    ),
  }),
};

test('the AUC of the lines is that of evaluate', async () => {
  const labels = Array.from({ length: 1_500 }, (_, at) => (at * 7919) % 31 < 11);
  const lines = labels.map((label, at) => `${label ? 1 : -1} ${at % 5}:1 ${5 + ((at * at) % 23)}:${(at % 13) / 4}\n`);
  const place = testPlace();
  writeFileSync(join(place.folder, 'a.txt'), lines.join(''));
  const record = recordOf(aJob());
  const { signal } = new AbortController();
  const { metrics } = await evaluateFiles({
    ...{
      place,
      clock: new FakeClock(),
      record,
      client: CLIENT,
      files: ['a.txt'],
      labels: [],
      signal,
      onTask: () => {},
    },
  });
  async function* blocks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(lines.join(''));
  }
  const source = await openForward('a.txt', blocks());
  const head = { bytes: await source.peek(FORWARD_HEAD_BYTES), isWhole: true };
  const options = { record, format: 'libsvm', file: 'a.txt', keep: [], as: 'csv', hasErrors: true } as const;
  const maker = await createPartMaker({ ...options, source: { kind: 'stream', head } }, place.host.disk);
  let text = '';
  const take = async (made: Made): Promise<boolean> => {
    text += Buffer.from(maker.output.bytesOf(made)).toString();
    return true;
  };
  await new Predictor({ parts: maker.parts(source), make: maker.make, atOnce: 1, take }).run(CLIENT, signal);
  const scores = text
    .trim()
    .split('\n')
    .map((line) => Math.fround(Number.parseFloat(line)));
  expect(scores).toHaveLength(labels.length);
  expect(areaOf(scores, labels)).toBeCloseTo(metrics.auc!, 12);
});
