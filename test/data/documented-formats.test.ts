/** The examples of docs/data.md and docs/columns.md: a text with a `data` section is read as the page says. */
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, test } from 'vitest';
import { categoryId, missingId, vocabularySeed } from '../../src/data/columns/hash.ts';
import { convertFile } from '../../src/data/convert.ts';
import { DATA_FORMATS } from '../../src/data/formats/registry.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { columnSpecOf, type Job, selectionOf } from '../../src/job/schema.ts';
import { NO_GROUP } from '../../src/model/model.ts';
import { loadDataset } from '../../src/roles/master/dataset.ts';
import { asPublished } from '../cluster/job/stored-job.ts';
import { floatsOf } from '../model/batches.ts';
import { ROOT } from '../source-files.ts';
import { chunkOf } from './bytes/packings/recordio/recordio.ts';
import { testPlace } from './place.ts';

interface Example {
  readonly kind: string;
  readonly content: string;
  readonly data: string;
  readonly read: string;
}

const page = ['data', 'columns'].map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8')).join('\n');
const fences = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind, text]) => ({ kind: kind!, text: text! }));
const examples = fences.flatMap(({ kind, text }, at): Example[] => {
  const [data, read] = [fences[at + 1], fences[at + 2]];
  return data?.kind === 'yaml' && read?.kind === 'text'
    ? [{ kind, content: text, data: data.text, read: read.text }]
    : [];
});

test('the documents have an example of each format', () => {
  const named = examples.map(({ data }) => /^format: (\w+)$/m.exec(data)?.[1]);
  expect([...new Set(named)].sort()).toEqual([...DATA_FORMATS, 'recordio'].sort());
  expect(examples.length).toBe(fences.filter(({ kind }) => kind === 'yaml').length);
});

test.each(examples)('the $kind example of the documents ($data) is read as it says', async (example) => {
  const place = testPlace();
  if (example.kind === 'bash') execFileSync('bash', ['-c', example.content], { cwd: place.folder });
  else writeFileSync(join(place.folder, 'file.txt'), example.content);
  const job = jobOf(example);
  if (job.data.format === 'columns') {
    const source = join(place.folder, 'source.csv');
    renameSync(join(place.folder, 'file.txt'), source);
    const how = { format: 'csv', columns: columnSpecOf(job)!, onBytes: () => {} } as const;
    await convertFile(place, 'source.csv', join(place.folder, 'file.txt'), how);
  }
  if (/^format: recordio$/m.test(example.data)) {
    writeFileSync(join(place.folder, 'file.txt'), chunkOf(example.content.trimEnd().split('\n'), 'snappy'));
  }
  if (job.data.format === 'parquet') writeFileSync(join(place.folder, 'file.txt'), parquetOf(example.content));
  const { index, tasks } = await loadDataset(place, job, job.data.train, [], 'train');
  const isDense = job.model.type === 'softmax';
  const spec = columnSpecOf(job);
  const { groupBy } = job.data;
  const columns = spec && { ...spec, statistics: index.statistics ?? [], input: 'sparse' as const, groupBy };
  const reader = createTaskReader(place, {
    format: job.data.format,
    files: index.files,
    labels: isDense ? { task: 'multiclass', classes: 2 } : { task: 'binary', mayHaveWeight: job.data.labelWeights },
    inputWidth: Number(index.featureBound),
    readsFields: job.data.format === 'libffm',
    batchSize: 100,
    columns,
    selection: selectionOf(job, 'train'),
  });
  const records = await reader.read(tasks[0]!);
  await reader.close();
  expect(records.bad).toEqual([]);
  const names = namesOf(job, example.content);
  const lines = Array.from({ length: records.records }, (_, at) => {
    const place = records.describe(at, at + 1).split(', ')[1];
    return `${place}: ${describeRecord(records.batch(at, at + 1), names)}`;
  });
  expect(`${lines.join('\n')}\n`).toBe(example.read);
});

/** Of lines of JSON, each of which has all columns. */
function parquetOf(lines: string): Buffer {
  const rows = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, boolean | number | string | null>);
  const types = { boolean: 'BOOLEAN', number: 'INT32', string: 'STRING' } as const;
  const columnData = Object.entries(rows[0]!).map(([name, value]) => ({
    ...{ name, data: rows.map((row) => row[name]), nullable: true },
    type: types[typeof value as keyof typeof types],
  }));
  return Buffer.from(parquetWriteBuffer({ columnData }));
}

function jobOf({ data, kind }: Example): Job {
  const fields = `${data}train: ${kind === 'bash' ? 'train-images-idx3-ubyte' : 'file.txt'}\n`;
  const model = kind === 'bash' ? 'softmax' : 'lr';
  return asPublished(
    parseJobFile('job', `name: example\nmodel: { type: ${model} }\ndata:\n${fields.replace(/^/gm, '  ')}`),
  );
}

/** What a reader would call the ids of an example. */
function namesOf({ data: { columns = [] } }: Job, content: string): Map<bigint, string> {
  const names = new Map<bigint, string>();
  for (const { name, type } of columns) {
    const seed = vocabularySeed(name);
    names.set(missingId(seed), `${name} is missing`);
    if (type === 'number') names.set(categoryId(Buffer.of(), seed), name);
    const quoted = [...content.matchAll(/"([^"]*)"/g)].flatMap(([, text]) => [text!, ...text!.split('|')]);
    const texts = [...content.split(/[,;\t\n]/), ...quoted, ...(content.match(/\d+/g) ?? [])];
    for (const text of texts) if (text !== '') names.set(categoryId(Buffer.from(text), seed), `${name}=${text}`);
  }
  return names;
}

function describeRecord(
  {
    labels,
    weights,
    groups,
    sparse,
    dense,
  }: ReturnType<Awaited<ReturnType<ReturnType<typeof createTaskReader>['read']>>['batch']>,
  names: ReadonlyMap<bigint, string>,
): string {
  const [input] = sparse;
  const features = Array.from(input?.rows ?? [], (row, at) => {
    const id = Buffer.from(input!.ids).readBigUInt64LE(8 * row);
    const field = input!.fields === undefined ? '' : ` of field ${input!.fields[at]}`;
    return `${names.get(id) ?? id} ${input!.values?.[at] ?? 1}${field}`;
  });
  const group = groups === undefined ? NO_GROUP : Buffer.from(groups).readBigUInt64LE(0);
  return [
    `${labels[0]}`,
    ...features,
    ...dense.map((input) => `inputs ${[...floatsOf(input)].join(' ')}`),
    ...(weights === undefined || weights[0] === 1 ? [] : [`weight ${weights[0]}`]),
    ...(group === NO_GROUP ? [] : [`group ${names.get(group) ?? group}`]),
  ].join(' | ');
}
