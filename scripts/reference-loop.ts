/**
 * Trains an example in one plain loop, without a cluster: to find settings for `examples/`, and to see what a cluster
 * has to reach. A tenth of the training tasks is held out: settings are chosen by `validation`, never by `test`.
 *
 *   node scripts/reference-loop.ts TRAIN TEST --format libsvm --model '{"type":"lr"}'
 *     --optimizer '{"type":"adagrad","learningRate":0.1}' --passes 5 --batch 128 [--data FOLDER] [--hold-out 0]
 *     [--tables '{"w":{"optimizer":{"type":"ftrl",…}}}'] [--blocks '{"bias":{"optimizer":{…}}}']
 *     [--max-gradient-norm 1]
 */
import { parseArgs } from 'node:util';
import type { DataFormat } from '../src/data/formats/registry.ts';
import { loadOrBuildIndex } from '../src/data/index-file.ts';
import type { TaskRecords } from '../src/data/source.ts';
import { createTaskReader } from '../src/data/task-reader.ts';
import { cutTasks } from '../src/data/tasks.ts';
import { createHost } from '../src/host/host.ts';
import type { ModelFacts, ModelSpec } from '../src/model/registry.ts';
import type { TrainingChoice } from '../src/tensor/optimizer.ts';
import { referenceModel } from '../test/model/reference.ts';
import { evaluateTasks, labelRuleOf, ReferenceTrainer } from './reference/trainer.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string', default: '.' },
    cache: { type: 'string', default: '.cache/data' },
    format: { type: 'string', default: 'libsvm' },
    model: { type: 'string' },
    optimizer: { type: 'string' },
    tables: { type: 'string', default: '{}' },
    blocks: { type: 'string', default: '{}' },
    passes: { type: 'string', default: '5' },
    batch: { type: 'string', default: '128' },
    seed: { type: 'string', default: '1' },
    'max-gradient-norm': { type: 'string' },
    'hold-out': { type: 'string', default: '0.1' },
  },
});
const [train, test] = positionals;
if (train === undefined || test === undefined || flags.model === undefined || flags.optimizer === undefined) {
  throw new Error('usage: reference-loop.ts TRAIN TEST --model JSON --optimizer JSON [--passes N] [--batch N]');
}

const RECORDS_PER_TASK = 1000;
const place = {
  host: createHost({ logLevel: 'warn', logFormat: 'text' }),
  folder: flags.data,
  cacheFolder: flags.cache,
};

async function readAll(what: string, known?: ModelFacts) {
  const classes = known?.classes;
  const format = flags.format as DataFormat;
  const index = await loadOrBuildIndex(place, { what, format, recordsPerTask: RECORDS_PER_TASK });
  const { featureBound, fieldBound: fields } = index;
  const facts = {
    inputWidth: Number(featureBound),
    classes: classes ?? index.labelBound,
    fields: known?.fields ?? fields,
    seed: Number(flags.seed),
  };
  const model = referenceModel(JSON.parse(flags.model ?? '') as ModelSpec, facts);
  const reader = createTaskReader(place, {
    format,
    files: index.files,
    labels: labelRuleOf(model, facts.classes),
    inputWidth: facts.inputWidth,
    batchSize: Number(flags.batch),
    readsFields: model.readsFields,
  });
  const tasks: TaskRecords[] = [];
  for (const chunks of cutTasks(index, RECORDS_PER_TASK)) tasks.push(await reader.read(chunks));
  await reader.close();
  return { model, tasks, facts };
}

const { model, tasks, facts } = await readAll(train);
const { tasks: testTasks } = await readAll(test, facts);
const heldOut = Math.round(tasks.length * Number(flags['hold-out']));
const validation = tasks.splice(tasks.length - heldOut, heldOut);
const choice = {
  optimizer: JSON.parse(flags.optimizer),
  tables: JSON.parse(flags.tables),
  blocks: JSON.parse(flags.blocks),
} as TrainingChoice;
const clip = flags['max-gradient-norm'];
const maxNorm = clip === undefined ? undefined : Number(clip);
const trainer = new ReferenceTrainer(model, choice, Number(flags.seed), maxNorm);
for (let pass = 0; pass < Number(flags.passes); pass++) {
  const started = performance.now();
  const loss = trainer.pass(tasks, Number(flags.batch), pass);
  const seconds = (performance.now() - started) / 1000;
  const facts = {
    pass: pass + 1,
    loss,
    ...(heldOut > 0 ? { validation: evaluateTasks(trainer, validation) } : {}),
    test: evaluateTasks(trainer, testTasks),
    seconds,
  };
  process.stdout.write(`${JSON.stringify(facts)}\n`);
}
