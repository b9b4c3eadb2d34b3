/** Bytes of any kind, and reading them in all ways: they are read, or refused with an error of paddlet. */
import { expect } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { ColumnSpec } from '../../../src/data/columns/column.ts';
import { refuseBadStart } from '../../../src/data/first-records.ts';
import type { DataFormat } from '../../../src/data/formats/registry.ts';
import { shown } from '../parsed/compare.ts';
import { indexOf, placeWith, readAll } from './csv/read-files.ts';

/** Numbers below `bound` that look random, by mulberry32. */
export function dice(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

export function randomBytes(seed: number, bytes: number): Buffer {
  const next = dice(seed);
  return Buffer.from(Uint8Array.from({ length: bytes }, () => next(256)));
}

/** Undefined when it gives the error of paddlet that it may give. */
export async function orRefused<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof PaddletError)) throw error;
    expect(error.code).toMatch(/^(DataInvalid|TooManyBadRecords)$/);
    return undefined;
  }
}

/** How many good records there are. */
export async function readInAllWays(bytes: Buffer, spec: ColumnSpec, format: DataFormat = 'csv'): Promise<number> {
  const file = `a.${format}`;
  const place = placeWith({ [file]: bytes });
  const how = { what: file, format, spec };
  const start = { what: file, format, labels: { task: 'binary' }, columns: spec } as const;
  await orRefused(refuseBadStart(place, { ...start, recordsPerTask: 100, maxBadRecords: 10 }));
  const index = await orRefused(indexOf(place, how));
  if (index === undefined) return 0;
  // What is indexed is read, in tasks of any size.
  const tasks = await readAll(place, index, how);
  expect(tasks.reduce((sum, { records }) => sum + records, 0)).toBe(index.records);
  const recordsPerTask = 777;
  const cut = await indexOf(place, { ...how, recordsPerTask });
  const others = await readAll(place, cut, { ...how, recordsPerTask });
  expect(others.flatMap(({ bad }) => bad.map(({ line }) => line))).toEqual(
    tasks.flatMap(({ bad }) => bad.map(({ line }) => line)),
  );
  const good = tasks.reduce((sum, task) => sum + task.goodBefore(task.records), 0);
  expect(tasks.map((task) => shown(task, 100))).toHaveLength(tasks.length);
  return good;
}
