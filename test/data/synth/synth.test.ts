import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createPlantedSource } from '../../../src/data/synth/planted-model.ts';
import { createRandomStream } from '../../../src/data/synth/random-stream.ts';
import { SYNTH_DEFAULTS, type SynthOptions, writeSynth } from '../../../src/data/synth/synth.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import { loadDataset } from '../../../src/roles/master/dataset.ts';
import { asPublished } from '../../cluster/job/stored-job.ts';
import { testPlace } from '../place.ts';

const SMALL: SynthOptions = { ...SYNTH_DEFAULTS, records: 5000, testRecords: 1000 };

describe('made data', () => {
  test('is the same for the same options, and another for another seed', async () => {
    const [a, b, c] = [testPlace(), testPlace(), testPlace()];
    await writeSynth(a.host, a.folder, SMALL);
    await writeSynth(b.host, b.folder, SMALL);
    await writeSynth(c.host, join(c.folder, 'made', 'other-seed'), { ...SMALL, seed: 2 });
    for (const name of ['train.libsvm', 'test.libsvm', 'planted.json']) {
      expect(readFileSync(join(a.folder, name)).equals(readFileSync(join(b.folder, name)))).toBe(true);
      expect(readFileSync(join(a.folder, name)).equals(readFileSync(join(c.folder, 'made', 'other-seed', name)))).toBe(
        false,
      );
    }
  });

  test('has the records, fields and ids that were asked for', async () => {
    const place = testPlace();
    const { report } = await writeSynth(place.host, place.folder, { ...SMALL, features: 55, perRecord: 5 });
    const lines = readFileSync(join(place.folder, 'train.libsvm'), 'utf8').trimEnd().split('\n');
    expect(lines.length).toBe(5000);
    const counts = new Map<number, number>();
    for (const line of lines) {
      const ids = [...line.matchAll(/ (\d+):1/g)].map(([, id]) => Number(id));
      expect(ids.map((id) => Math.floor((id - 1) / 11))).toEqual([0, 1, 2, 3, 4]);
      for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    // Zipf: the first id of a field is met twice as often as the second.
    expect(counts.get(1)! / counts.get(2)!).toBeGreaterThan(1.8);
    expect(counts.get(1)! / counts.get(2)!).toBeLessThan(2.2);
    expect(report.trainPositives).toBe(lines.filter((line) => line.startsWith('1 ')).length);
    expect(JSON.parse(readFileSync(join(place.folder, 'planted.json'), 'utf8'))).toEqual(report);
  });

  test('a planted model that is linear, and noise that lowers what can be reached', async () => {
    const place = testPlace();
    const linear = { ...SMALL, factors: 0, testRecords: 10_000 };
    const plain = await writeSynth(place.host, place.folder, linear);
    const noisy = await writeSynth(place.host, place.folder, { ...linear, noise: 2 });
    expect(plain.report.test.auc).toBeGreaterThan(0.7);
    expect(noisy.report.test.auc).toBeLessThan(plain.report.test.auc! - 0.03);
  });

  test('as libffm: the field of a feature is its place in the record', async () => {
    const [plain, place] = [testPlace(), testPlace()];
    await writeSynth(plain.host, plain.folder, SMALL);
    expect(await writeSynth(place.host, place.folder, { ...SMALL, format: 'libffm' })).not.toHaveProperty('job');
    const text = readFileSync(join(place.folder, 'train.libffm'), 'utf8');
    expect(text).toMatch(/^[01] 0:\d+:1 1:\d+:1 2:\d+:1 .* 9:\d+:1\n/);
    expect(text.replace(/ \d+:/g, ' ')).toBe(readFileSync(join(plain.folder, 'train.libsvm'), 'utf8'));
  });

  test('as columns, with a job that reads them', async () => {
    const place = testPlace();
    const log = { ...SMALL, features: 400, perRecord: 4, numbers: 2, factors: 0, format: 'tsv' } as const;
    const { report } = await writeSynth(place.host, place.folder, log);
    const [head, ...lines] = readFileSync(join(place.folder, 'train.tsv'), 'utf8').trimEnd().split('\n');
    expect(head).toBe('label\tI1\tI2\tC1\tC2');
    expect(lines.length).toBe(5000);
    expect(lines.every((line) => /^[01]\t\d+\t\d+\t([0-9a-f]{8})?\t([0-9a-f]{8})?$/.test(line))).toBe(true);
    expect(lines.some((line) => line.endsWith('\t'))).toBe(true);
    expect(report.trainPositives).toBe(lines.filter((line) => line.startsWith('1\t')).length);
    const job = asPublished(parseJobFile('job.yaml', readFileSync(join(place.folder, 'job.yaml'), 'utf8')));
    const { index } = await loadDataset(place, job, job.data.train, [], 'train');
    expect(index).toMatchObject({ records: 5000, labelBound: 2, statistics: [{ name: 'I1', min: 0, missing: 0 }, {}] });
    // The effect of a number follows its logarithm: those above the mean have clearly more, or fewer, clicks.
    const clicks = (isHigh: boolean): number => {
      const those = lines.map((line) => line.split('\t')).filter(([, I1]) => Number(I1) > 5 === isHigh);
      return those.filter(([label]) => label === '1').length / those.length;
    };
    expect(Math.abs(clicks(true) - clicks(false))).toBeGreaterThan(0.1);
  });

  test('numbers that are missing say nothing of the label', async () => {
    const place = testPlace();
    const log = { ...SMALL, features: 50, perRecord: 1, numbers: 1, missing: 0.4, factors: 0, format: 'csv' } as const;
    await writeSynth(place.host, place.folder, log);
    const lines = readFileSync(join(place.folder, 'train.csv'), 'utf8').trimEnd().split('\n').slice(1);
    expect(lines.every((line) => /^[01],\d*$/.test(line))).toBe(true);
    expect(lines.filter((line) => line.endsWith(',')).length / lines.length).toBeCloseTo(0.4, 1);
    const source = createPlantedSource(log);
    const logits = Array.from({ length: 100 }, () => {
      const { ids, logit } = source();
      return { isMissing: ids[0] === 0, isBiasAlone: logit === -0.5 };
    });
    expect(logits.filter(({ isMissing, isBiasAlone }) => isMissing !== isBiasAlone)).toEqual([]);
  });

  test.each([
    [{ numbers: 11, format: 'csv' }, 'numbers must be a whole number from 0 to 10'],
    [{ missing: 1 }, 'missing must be a number of at least 0 and below 1'],
    [{ missing: Number.NaN }, 'missing must be a number of at least 0 and below 1'],
    [{ numbers: 2 }, 'numbers need format csv, tsv or jsonl'],
    [{ records: 0 }, 'records must be'],
    [{ perRecord: 1.5 }, 'perRecord must be'],
    [{ perRecord: 4097, features: 5000, format: 'libffm' }, 'perRecord must be at most 4096'],
    [{ features: 9 }, 'expected at least 10 features'],
    [{ features: 1e9 }, 'at most'],
    [{ factors: -1 }, 'factors must be'],
    [{ noise: Number.NaN }, 'noise must be'],
  ] as [Partial<SynthOptions>, string][])('options that make no data are refused: %j', async (wrong, message) => {
    const place = testPlace();
    const made = writeSynth(place.host, place.folder, { ...SMALL, ...wrong });
    await expect(made).rejects.toMatchObject({ code: 'Usage', message: expect.stringContaining(message) });
    expect(readdirSync(place.folder)).toEqual([]);
  });

  test('records come one at a time', () => {
    const source = createPlantedSource({ ...SYNTH_DEFAULTS, features: 20, perRecord: 4, seed: 3 });
    const { ids } = source();
    expect(source().ids).toBe(ids);
  });
});

describe('the random stream', () => {
  test('is uniform and normal by its moments', () => {
    const random = createRandomStream(11);
    const count = 100_000;
    const uniforms = Float64Array.from({ length: count }, () => random.uniform());
    const normals = Float64Array.from({ length: count }, () => random.normal());
    const mean = (values: Float64Array, power: number) =>
      values.reduce((sum, value) => sum + value ** power, 0) / count;
    expect(mean(uniforms, 1)).toBeCloseTo(1 / 2, 2);
    expect(mean(uniforms, 2)).toBeCloseTo(1 / 3, 2);
    expect(Math.min(...uniforms.subarray(0, 1000))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...uniforms.subarray(0, 1000))).toBeLessThan(1);
    expect(Math.abs(mean(normals, 1))).toBeLessThan(0.02);
    expect(mean(normals, 2)).toBeCloseTo(1, 1);
    expect(mean(normals, 4)).toBeCloseTo(3, 0);
  });

  test('streams of different seeds differ', () => {
    const firsts = Array.from({ length: 1000 }, (_, seed) => createRandomStream(seed).uniform());
    expect(new Set(firsts).size).toBe(1000);
  });
});
