/** What a task shows, down to the bits, for comparing one way of reading it with another. */
import type { TaskRecords } from '../../../src/data/source.ts';
import type { Batch } from '../../../src/model/model.ts';

const bits = ({ buffer, byteOffset, byteLength }: ArrayBufferView): string =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('hex');

export function bitsOf({ records, labels, weights, groups, sparse, dense }: Batch): unknown {
  const inputs = [...sparse, ...dense].map((input) => {
    const arrays = Object.entries(input).map(([name, value]: [string, unknown]) => {
      return [name, ArrayBuffer.isView(value) ? bits(value) : value];
    });
    return Object.fromEntries(arrays);
  });
  return [records, bits(labels), weights && bits(weights), groups && bits(groups), inputs];
}

/** All batches of that size, what is said of them, and all that is bad. */
export function shown(task: TaskRecords, batchSize: number) {
  const batches: unknown[] = [];
  for (let from = 0; from < task.records; from += batchSize) {
    const to = Math.min(from + batchSize, task.records);
    batches.push([bitsOf(task.batch(from, to)), task.goodBefore(to), task.describe(from, to)]);
  }
  return { records: task.records, bad: task.bad, batches };
}
