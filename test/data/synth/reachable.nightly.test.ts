/** What the planted model says can be reached is reached. */
import { expect, test } from 'vitest';
import { evaluateTasks, ReferenceTrainer } from '../../../scripts/reference/trainer.ts';
import { buildIndex } from '../../../src/data/index-builder.ts';
import type { TaskRecords } from '../../../src/data/source.ts';
import { SYNTH_DEFAULTS, writeSynth } from '../../../src/data/synth/synth.ts';
import { createTaskReader } from '../../../src/data/task-reader.ts';
import { cutTasks } from '../../../src/data/tasks.ts';
import type { ModelSpec } from '../../../src/model/registry.ts';
import { referenceModel } from '../../model/reference.ts';
import { type TestPlace, testPlace } from '../place.ts';

async function read(place: TestPlace, what: string): Promise<TaskRecords[]> {
  const index = await buildIndex(place, { what, format: 'libsvm', recordsPerTask: 1000 });
  const reader = createTaskReader(place, {
    format: 'libsvm',
    files: index.files,
    labels: { task: 'binary' },
    inputWidth: 0,
    batchSize: 128,
  });
  const tasks: TaskRecords[] = [];
  for (const chunks of cutTasks(index, 1000)) tasks.push(await reader.read(chunks));
  await reader.close();
  return tasks;
}

function train(tasks: readonly TaskRecords[], spec: ModelSpec, passes: number): ReferenceTrainer {
  const optimizer = { type: 'adagrad', learningRate: 0.2, initialAccumulator: 0.1, epsilon: 1e-7, l2: 0 } as const;
  const trainer = new ReferenceTrainer(
    referenceModel(spec, { inputWidth: 0, classes: 2, fields: 0, seed: 1 }),
    { optimizer },
    1,
  );
  for (let pass = 0; pass < passes; pass++) trainer.pass(tasks, 128, pass);
  return trainer;
}

test('a factorization machine reaches the planted AUC within 0.01, a linear model does not', async () => {
  const place = testPlace();
  const { report } = await writeSynth(place.host, place.folder, SYNTH_DEFAULTS);
  const [tasks, tests] = [await read(place, 'train.libsvm'), await read(place, 'test.libsvm')];
  const fm = evaluateTasks(train(tasks, { type: 'fm', factors: 2, initStddev: 0.1 }, 6), tests);
  const lr = evaluateTasks(train(tasks, { type: 'lr' }, 2), tests);
  expect(fm.auc).toBeGreaterThan(report.test.auc! - 0.01);
  expect(fm.auc).toBeLessThan(report.test.auc! + 0.003);
  expect(fm.logloss).toBeLessThan(report.test.logloss! + 0.012);
  expect(lr.auc).toBeLessThan(report.test.auc! - 0.03);
});
