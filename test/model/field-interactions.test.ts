/** What only pairs of values tell, in libffm text: a field-aware machine learns it, a linear model cannot. */
import { expect, test } from 'vitest';
import { ReferenceTrainer } from '../../scripts/reference/trainer.ts';
import { buildIndex } from '../../src/data/index-builder.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { createModel, type ModelSpec } from '../../src/model/registry.ts';
import { placeWith } from '../data/formats/csv/read-files.ts';

const FIELDS = 4;
const VALUES = 4;
const RECORDS = 2400;
const OPTIMIZER = { type: 'adagrad', learningRate: 0.3, initialAccumulator: 0.001, epsilon: 1e-7, l2: 0 } as const;

/**
 * The label is by a sum over the pairs of fields: the bits of the two values agree, or do not. Which bits these are
 * depends on the other field, so that a value by itself says nothing.
 */
function planted(): string {
  const random = createRandomStream(7);
  return Array.from({ length: RECORDS }, () => {
    const values = Array.from({ length: FIELDS }, () => Math.floor(VALUES * random.uniform()));
    let sum = 0;
    for (let a = 0; a < FIELDS; a++) {
      for (let b = a + 1; b < FIELDS; b++) {
        const agree = ((values[a]! >> (b % 2)) ^ (values[b]! >> (a % 2))) & 1;
        // With these weights the sum is never 0.
        sum += (agree === 1 ? 1 : -1) * (1 + 2 ** (a - 4) + 2 ** (b - 8));
      }
    }
    const features = values.map((value, field) => `${field}:${VALUES * field + value}:1`);
    return `${sum > 0 ? 1 : 0} ${features.join(' ')}\n`;
  }).join('');
}

async function tasksOf(): Promise<{ tasks: TaskRecords[]; fields: number }> {
  const place = placeWith({ 'a.txt': planted() });
  const index = await buildIndex(place, { what: 'a.txt', format: 'libffm', recordsPerTask: 400 });
  const labels = { task: 'binary' } as const;
  const options = {
    format: 'libffm',
    files: index.files,
    labels,
    inputWidth: 0,
    batchSize: 32,
    readsFields: true,
  } as const;
  const reader = createTaskReader(place, options);
  const tasks: TaskRecords[] = [];
  for (const chunks of cutTasks(index, 400)) tasks.push(await reader.read(chunks));
  await reader.close();
  return { tasks, fields: index.fieldBound };
}

test('planted interactions of fields: ffm finds them, lr does not', async () => {
  const { tasks, fields } = await tasksOf();
  const held = tasks.at(-1)!;
  const accuracyOf = (spec: ModelSpec): number => {
    const model = createModel(spec, { inputWidth: 0, classes: 2, fields, seed: 1 });
    const trainer = new ReferenceTrainer(model, { optimizer: OPTIMIZER, tables: {}, blocks: {} }, 1);
    for (let pass = 0; pass < 5; pass++) trainer.pass(tasks.slice(0, -1), 32, pass);
    const { metrics } = trainer.evaluate(held.batch(0, held.records));
    return metrics.correct / metrics.records;
  };
  expect(fields).toBe(FIELDS);
  expect(accuracyOf({ type: 'lr' })).toBeLessThan(0.65);
  expect(accuracyOf({ type: 'ffm' })).toBeGreaterThan(0.95);
});
