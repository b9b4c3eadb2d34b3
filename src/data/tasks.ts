/** From chunks to tasks: a task is a list of whole chunks. */
import { assert } from '../base/assert.ts';
import type { Chunk, DataIndex } from './source.ts';

/**
 * The tasks of a dataset, each of up to `recordsPerTask` records (more only where a single chunk has more). An index
 * built for the same `recordsPerTask` gives tasks of exactly that many, and a last one that may be short.
 */
export function cutTasks(index: Pick<DataIndex, 'chunks'>, recordsPerTask: number): Chunk[][] {
  assert(recordsPerTask >= 1, 'recordsPerTask is positive');
  const tasks: Chunk[][] = [];
  let records = 0;
  for (const chunk of index.chunks) {
    const task = tasks.at(-1);
    if (task !== undefined && records + chunk.records <= recordsPerTask) {
      task.push(chunk);
      records += chunk.records;
    } else {
      tasks.push([chunk]);
      records = chunk.records;
    }
  }
  return tasks;
}

/** Tasks of `chunksPerTask` chunks each, the last may be short; below 1 it counts as 1. */
export function cutTasksByChunks(chunks: readonly Chunk[], chunksPerTask: number): Chunk[][] {
  const size = Math.max(1, Math.floor(chunksPerTask));
  const tasks: Chunk[][] = [];
  for (let first = 0; first < chunks.length; first += size) tasks.push(chunks.slice(first, first + size));
  return tasks;
}
