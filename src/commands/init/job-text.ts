/** The job file that `init` writes. Pure. */
import { PaddletError } from '../../base/errors.ts';
import { notWritable } from '../../data/appearance.ts';
import { FEW, firstSettings, MANY, type RecordsToLearn } from '../../data/first-settings.ts';
import { labelColumns } from '../../data/inspection/label.ts';
import type { Look } from '../../data/inspection/look.ts';
import type { SparseLook } from '../../data/inspection/sparse.ts';
import type { TableLook } from '../../data/inspection/table.ts';
import { isOfFields } from '../../data/inspection/table-source.ts';
import { typeOf } from '../../data/inspection/types.ts';
import type { NamedModel } from '../../model/registry.ts';
import { badText, strayText } from '../data/inspection-text.ts';
import { chooseModel, isOfNumbers } from './model-choice.ts';
import { columnLines, folderNotes, formLines, splitLine } from './table-job.ts';
import { line } from './yaml-lines.ts';

export interface WantedJob {
  /** Undefined: after the data. */
  readonly name: string | undefined;
  /** Paths as the job file has them. */
  readonly train: string;
  readonly test: string | undefined;
  /** What the first of the `files` training files contains. */
  readonly look: Look;
  readonly files: number;
  /** What the first test file contains. */
  readonly testLook: Look | undefined;
  readonly model: NamedModel | undefined;
}

export interface WrittenJob {
  readonly name: string;
  readonly text: string;
  /** What was chosen, in a line. */
  readonly summary: string;
}

/** Columns that the summary names. */
const MOST_UNREAD = 5;

interface DataPart {
  /** Lines of `data` after the files. */
  readonly lines: readonly string[];
  readonly format: string;
  readonly model: NamedModel;
  readonly task: 'binary' | 'multiclass' | 'regression';
  /** Mean sum of the absolute values of a record's features. */
  readonly meanSum: number;
  readonly summary: string;
}

/** Assumed number of records of a file that was not read to its end. */
const UNKNOWN = 100_000;
/** Tasks of the written batch sizes have fewer records, so that all records of a task may be bad. */
const MOST_BAD_RECORDS = 20_000;
const NAME = /[^A-Za-z0-9._-]+/g;
const NAME_CHARACTERS = 63;

/** Throws `Usage` when no model suits the data, or not the wanted one. */
export function jobText(wanted: WantedJob): WrittenJob {
  const { look, files, train, test } = wanted;
  // Files of a data set are mostly of like size.
  const records = files * (look.kind === 'idx' || look.isWhole ? look.records : UNKNOWN);
  const part = dataPart(wanted);
  const { model, task } = part;
  const name = wanted.name ?? nameOf(train);
  const { optimizer, ...training } = learning(model, { records, meanSum: part.meanSum });
  const text = [
    `# Written by \`paddlet init\`. A comment explains each guess: correct what is wrong. All fields: paddlet docs job-file.`,
    line(0, 'name', name),
    line(0, 'data', undefined),
    line(1, 'format', part.format),
    line(1, 'train', train, files === 1 ? undefined : `${look.path} was looked at, of ${files} files`),
    ...(test === undefined ? [] : [line(1, 'test', test)]),
    ...part.lines,
    modelLine(model, task),
    line(0, 'optimizer', optimizer),
    ...tableLines(model),
    line(0, 'training', { mode: 'async', ...training, seed: 1 }),
    line(0, 'cluster', { pservers: 2, trainers: 2 }, 'processes on this machine'),
  ];
  return { name, text: `${text.join('\n')}\n`, summary: part.summary };
}

interface Learning {
  readonly optimizer: object;
  readonly passes: number;
  readonly batchSize: number;
}

function learning(model: NamedModel, facts: RecordsToLearn): Learning {
  const { records } = facts;
  if (model === 'lr' || model === 'fm') {
    const { learningRate, initialAccumulator, ...training } = firstSettings(model, facts);
    return { optimizer: { type: 'adagrad', learningRate, initialAccumulator }, ...training };
  }
  return { optimizer: OPTIMIZERS[model], passes: passesOf(records), batchSize: records < FEW ? 32 : 128 };
}

const OPTIMIZERS = {
  // Its values are normalized, so that gradients are small.
  ffm: { type: 'adagrad', learningRate: 0.1, initialAccumulator: 0.0001 },
  softmax: { type: 'adam', learningRate: 0.01 },
  mlp: { type: 'adam', learningRate: 0.001 },
  wide_deep: { type: 'adam', learningRate: 0.001 },
  deepfm: { type: 'adam', learningRate: 0.001 },
} as const;

/** Settings for ids that keep arriving, as a comment. */
function tableLines(model: NamedModel): string[] {
  const tables = TABLES[model];
  if (tables.length === 0) return [];
  return [
    '# New ids keep arriving? These settings keep tables small: paddlet docs job-file.',
    '# tables:',
    ...tables.map(
      (name) => `#   ${name}: { admission: { type: count, min: 2 }, eviction: { unseenPasses: 2 }, maxBytes: 512MB }`,
    ),
  ];
}

/** Sparse tables of each model. */
const TABLES: Readonly<Record<NamedModel, readonly string[]>> = {
  lr: ['w'],
  fm: ['w', 'v'],
  ffm: ['w', 'v'],
  softmax: [],
  mlp: [],
  wide_deep: ['w', 'v'],
  deepfm: ['w', 'v'],
};

function modelLine(model: NamedModel, task: DataPart['task']): string {
  const others = {
    lr: 'fm finds pairs of values that matter together',
    fm: 'lr is simpler and faster',
    ffm: 'fm is smaller, and needs no fields',
    softmax: 'mlp has hidden layers',
    mlp: task === 'multiclass' ? 'softmax has no hidden layers' : undefined,
    wide_deep: 'deepfm multiplies pairs of values, too',
    deepfm: 'wide_deep has no pairs of values',
  };
  const factors = model === 'fm' ? { factors: 8 } : model === 'ffm' ? { factors: 4 } : {};
  const usual = isOfNumbers(model) ? 'multiclass' : 'binary';
  return line(0, 'model', { type: model, ...(task === usual ? {} : { task }), ...factors }, others[model]);
}

const passesOf = (records: number): number => (records < FEW ? 30 : records < MANY ? 10 : 3);

/** File names that say nothing about the data. */
const PLAIN = /^(?:train(?:ing)?|data|part-.*)$/i;

/** The name of the data file without its endings; the name of its folder, if that of the file says nothing. */
function nameOf(path: string): string {
  const names = path
    .split('/')
    .filter((part) => !/[*?]/.test(part))
    .map(stemOf)
    .filter((name) => name !== '');
  return names.findLast((name) => !PLAIN.test(name)) ?? names.at(-1) ?? 'job';
}

/** The name of a file as that of a job: without what says how it is packed and written. */
export function stemOf(file: string): string {
  return file
    .replace(/\.(gz|zst)$/, '')
    .replace(/\.(?:csv|tsv|txt|data|jsonl|ndjson|json|parquet|recordio|libsvm|libfm|svm|libffm|ffm|dat)$/, '')
    .replace(NAME, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, NAME_CHARACTERS);
}

const formatOf = (look: Look): string => (look.kind === 'table' ? look.form.format : look.kind);

function dataPart(wanted: WantedJob): DataPart {
  const { look, model, testLook } = wanted;
  if (testLook !== undefined && formatOf(testLook) !== formatOf(look)) {
    throw new PaddletError(
      'Usage',
      `expected test files in the format of ${look.path}, but ${testLook.path} has another format`,
      {
        hint: 'write the test files in the format of the training files',
      },
    );
  }
  switch (look.kind) {
    case 'table':
      return tablePart(wanted, look, testLook?.kind === 'table' ? testLook : undefined);
    case 'libsvm':
    case 'libffm':
      return sparsePart(wanted, look, look.kind);
    case 'idx':
      if (model !== undefined && !isOfNumbers(model)) {
        throw new PaddletError('Usage', `${model} does not support images: use softmax or mlp for idx files`, {
          hint: 'use --model softmax or --model mlp, or leave --model out',
        });
      }
      return {
        ...{ lines: [], format: 'idx', model: model ?? 'softmax', task: 'multiclass', meanSum: look.inputs },
        summary: `${model ?? 'softmax'} on ${look.inputs} inputs, ${look.classes.length} classes`,
      };
  }
}

function tablePart(
  { files, test, model: type }: WantedJob,
  look: TableLook,
  testLook: TableLook | undefined,
): DataPart {
  if (look.label === undefined) {
    const names = labelColumns(look.columns).map(({ name }) => name);
    throw new PaddletError('Usage', `no column of ${look.path} looks like a label`, {
      hint:
        names.length > 0
          ? `choose a column with --label: ${names.join(', ')}`
          : 'add negative examples and a label column: see the example in `paddlet docs data`',
    });
  }
  const model = chooseModel(look, type, testLook);
  const { lines, unread, used, categories, time } = columnLines(look, model);
  if (used === 0) {
    throw new PaddletError('Usage', `${look.path} does not have a column that ${model.type} can learn from`, {
      hint: unread[0] ?? 'choose another model with --model, or another label with --label',
    });
  }
  if (model.type === 'deepfm' && categories === 0) {
    throw new PaddletError('Usage', `deepfm needs columns of categories, but ${look.path} has none`, {
      hint: 'use --model wide_deep or --model mlp, which work with numeric columns alone',
    });
  }
  refuseNotWritable(look);
  const looks = testLook === undefined ? [look] : [look, testLook];
  const bad = looks.some((one) => badReasons(one).length > 0);
  const name = look.columns[look.label.column]!.name;
  return {
    format: look.form.format,
    lines: [
      ...(bad ? [line(1, 'maxBadRecords', MOST_BAD_RECORDS, looks.flatMap(badReasons)[0])] : []),
      ...(test === undefined ? [splitLine(time, look.isWhole && files === 1)] : []),
      ...formLines(look, looks),
      line(1, 'columns', undefined),
      ...lines,
      ...folderNotes(look),
    ],
    model: model.type,
    task: model.task,
    // A category has the value 1; a number that is normalized is about as large.
    meanSum: used,
    summary: [
      `${model.type} on ${used} column${used === 1 ? '' : 's'}; label ${name}: ${look.label.why}; ${model.why}`,
      ...unread.slice(0, MOST_UNREAD),
    ].join('\n'),
  };
}

/** A job file is UTF-8: names and labels in other bytes would not be those of the file. Throws `DataInvalid`. */
function refuseNotWritable({ path, form, columns, label }: TableLook): void {
  const labels = columns[label?.column ?? -1]?.top.map(({ text }) => text) ?? [];
  const names = columns.filter(({ hasName }) => hasName).map(({ name }) => name);
  const found = isOfFields(form) ? notWritable([...names, ...labels]) : undefined;
  if (found !== undefined) throw new PaddletError('DataInvalid', `${path} is ${found.what}`, { hint: found.hint });
}

/** Why training would refuse some records: a missing label, or a text that the type of its column does not allow. */
function badReasons({ label, columns, bad, strayLabels }: TableLook): string[] {
  const labelled = columns[label?.column ?? -1];
  return [
    ...(bad.records > 0 ? [badText({ ...bad, first: bad.first.slice(0, 1) })] : []),
    ...(labelled !== undefined && strayLabels.length > 0 ? [strayText(strayLabels, labelled.name)] : []),
    ...(labelled !== undefined && typeOf(labelled).missing > 0 ? ['some records have no label'] : []),
    ...columns.flatMap((facts) => {
      const { bad: texts, why } = typeOf(facts);
      return texts > 0 ? [`${facts.name}: ${why}`] : [];
    }),
  ];
}

function sparsePart({ test, model: wanted }: WantedJob, look: SparseLook, format: 'libsvm' | 'libffm'): DataPart {
  const model = wanted ?? (format === 'libffm' ? 'ffm' : 'lr');
  if (isOfNumbers(model)) {
    throw new PaddletError(
      'Usage',
      `${model} does not support ${format} text: it needs numeric columns, or idx files`,
      {
        hint: 'use --model lr or --model fm',
      },
    );
  }
  if (model === 'wide_deep' || model === 'deepfm') {
    throw new PaddletError('Usage', `${model} does not support ${format} text: it needs columns`, {
      hint: `use --model ${format === 'libffm' ? 'ffm' : 'fm'}, or write the data as CSV`,
    });
  }
  if (model === 'ffm' && format === 'libsvm') {
    throw new PaddletError('Usage', 'ffm needs a field for each feature, but libsvm text does not have fields', {
      hint: 'use --model lr or --model fm, or write the data as libffm or CSV',
    });
  }
  const { distinctLabels, labels, hasWeights, bad, perRecord, values } = look;
  const isBinary = labels.every(({ label }) => label === 0 || label === 1 || label === -1);
  if (!isBinary && distinctLabels === 2) {
    throw new PaddletError(
      'Usage',
      `expected the labels of ${look.path} to be 1 and 0, got ${labels.map(({ label }) => label).join(' and ')}`,
      {
        hint: 'write the labels of two classes as 1 and 0',
      },
    );
  }
  const task = isBinary ? 'binary' : 'regression';
  return {
    format,
    lines: [
      ...(hasWeights ? [line(1, 'labelWeights', true, 'label:weight')] : []),
      ...(bad.records > 0
        ? [line(1, 'maxBadRecords', MOST_BAD_RECORDS, `line ${bad.first[0]?.line}: ${bad.first[0]?.reason}`)]
        : []),
      ...(test === undefined ? [splitLine(undefined, true)] : []),
    ],
    model,
    task,
    meanSum: (perRecord?.mean ?? 1) * Math.hypot(values?.mean ?? 1, values?.deviation ?? 0),
    summary: `${model} on ${look.ids} features; ${isBinary ? 'labels of two classes' : `${distinctLabels} different labels, taken as numbers`}`,
  };
}
