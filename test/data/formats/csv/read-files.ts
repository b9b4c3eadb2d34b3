/** Files of CSV text, indexed and read task by task as trainers do it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { ColumnSpec } from '../../../../src/data/columns/column.ts';
import type { DataFormat } from '../../../../src/data/formats/registry.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import type { LabelRule } from '../../../../src/data/labels.ts';
import type { ParsedCache } from '../../../../src/data/parsed/cache.ts';
import type { DataIndex, TaskRecords } from '../../../../src/data/source.ts';
import { createTaskReader, type TaskReader } from '../../../../src/data/task-reader.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import type { ColumnInputs, Model } from '../../../../src/model/model.ts';
import { CSV, category, LABEL, number } from '../../columns/samples.ts';
import { bitsOf } from '../../parsed/compare.ts';
import { type TestPlace, testPlace } from '../../place.ts';

/** A label and one number, by the header. */
export const SPEC: ColumnSpec = { columns: [LABEL, number('x')], dialect: CSV };

export function placeWith(files: Readonly<Record<string, string | Uint8Array>>): TestPlace {
  const place = testPlace();
  for (const [name, bytes] of Object.entries(files)) write(place, name, bytes);
  return place;
}

export function write(place: TestPlace, name: string, bytes: string | Uint8Array): void {
  const path = join(place.folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}

export interface How {
  readonly what?: string | string[];
  readonly format?: DataFormat;
  readonly spec?: ColumnSpec;
  readonly recordsPerTask?: number;
  readonly labels?: LabelRule;
  readonly input?: Model['input'];
  readonly readsFields?: true;
  readonly reads?: ColumnInputs;
  readonly groupBy?: string | undefined;
  readonly batchSize?: number;
  readonly cache?: ParsedCache;
  readonly onBytes?: (count: number) => void;
}

export function indexOf(place: TestPlace, how: How = {}): Promise<DataIndex> {
  const { what = '*.csv', format = 'csv', spec = SPEC, recordsPerTask = 1000, onBytes } = how;
  return buildIndex(place, { what, format, columns: spec, recordsPerTask, ...(onBytes && { onBytes }) });
}

export function readerOf(place: TestPlace, index: DataIndex, how: How = {}): TaskReader {
  const { format = 'csv', spec = SPEC, labels = { task: 'regression' }, batchSize = 7, cache } = how;
  const { reads, readsFields, groupBy, input = reads === undefined ? 'sparse' : 'columns' } = how;
  return createTaskReader(place, {
    ...{ format, files: index.files, labels, inputWidth: 0, batchSize },
    columns: { ...spec, statistics: index.statistics ?? [], input, reads, readsFields, groupBy },
    ...(cache && { cache }),
  });
}

export async function readAll(place: TestPlace, index: DataIndex, how: How = {}): Promise<TaskRecords[]> {
  const reader = readerOf(place, index, how);
  const tasks: TaskRecords[] = [];
  try {
    for (const chunks of cutTasks(index, how.recordsPerTask ?? 1000)) tasks.push(await reader.read(chunks));
  } finally {
    await reader.close();
  }
  return tasks;
}

/** Indexed and read; each good record by its label and the values of its features. */
export async function recordsOf(place: TestPlace, how: How = {}) {
  const index = await indexOf(place, how);
  const tasks = await readAll(place, index, how);
  return {
    index,
    records: tasks.reduce((sum, task) => sum + task.records, 0),
    labels: tasks.flatMap((task) => [...task.batch(0, task.records).labels]),
    bad: tasks.flatMap((task) => task.bad.map(({ file, line, reason }) => `${file}:${line}: ${reason}`)),
    offsets: tasks.flatMap((task) => task.bad.map(({ byteOffset }) => byteOffset)),
    bits: bitsOfAll(tasks),
  };
}

/** Of all tasks, each as one batch. */
export const bitsOfAll = (tasks: readonly TaskRecords[]): unknown[] =>
  tasks.map((task) => bitsOf(task.batch(0, task.records)));

export const rows = (from: number, to: number, line: (at: number) => string): string =>
  Array.from({ length: to - from }, (_, at) => line(from + at)).join('');

export const count = (length: number, from = 0): number[] => Array.from({ length }, (_, at) => from + at);

/** A line that is longer than a record may be, twice among others: each is bad, and the others are read. */
export async function expectTooLong(long: string, breaks: number): Promise<void> {
  const spec: ColumnSpec = { columns: [LABEL, category('text')], dialect: CSV };
  const place = placeWith({ 'a.csv': `label,text\n0,a\n${long}\n2,b\n${long}` });
  const { labels, bad, offsets, records } = await recordsOf(place, { spec, recordsPerTask: 2 });
  expect([labels, records]).toEqual([[0, 2], 4]);
  expect(bad).toEqual([3, 5 + breaks].map((at) => expect.stringMatching(`^a.csv:${at}: .*${LIMITS.recordBytes}`)));
  expect(offsets).toEqual([15, 15 + long.length + 5]);
}
