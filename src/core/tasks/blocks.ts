/** How the states of BLOCK_TASKS tasks that follow one another are written in one small store value. */
import { bitmapFromText, bitmapToText, createBitmap } from '../bitmap.ts';
import type { OpenTask, SavedOpenTask } from './attempt.ts';
import { BLOCK_TASKS, type TaskBlock, type TaskSums } from './state.ts';

export const blockOf = (task: number): number => Math.floor(task / BLOCK_TASKS);

export interface BlockSource {
  /** Number of tasks in the whole pass. */
  readonly tasks: number;
  readonly isDone: (task: number) => boolean;
  readonly openAt: (task: number) => OpenTask | undefined;
  readonly sums: TaskSums;
}

export function encodeBlock(block: number, { tasks, isDone, openAt, sums }: BlockSource): TaskBlock {
  const first = block * BLOCK_TASKS;
  const done = createBitmap(sizeOf(block, tasks));
  const open: TaskBlock['open'] = {};
  for (let i = 0; i < done.size; i++) {
    if (isDone(first + i)) done.add(i);
    const task = openAt(first + i);
    if (task === undefined) continue;
    const attempts = [...task.attempts].map(({ attempt, trainer }) => ({ attempt, trainer }));
    open[first + i] = { last: task.last, failures: task.failures, attempts };
  }
  return { done: bitmapToText(done), open, sums };
}

export interface DecodedBlock {
  readonly done: readonly number[];
  readonly open: readonly (readonly [task: number, saved: SavedOpenTask])[];
}

/** Undefined if the value does not fit a pass of `tasks` tasks, or contradicts itself. */
export function decodeBlock(block: number, value: TaskBlock, tasks: number): DecodedBlock | undefined {
  const first = block * BLOCK_TASKS;
  if (!Number.isInteger(block) || first < 0 || first >= tasks) return undefined;
  const bits = bitmapFromText(value.done, sizeOf(block, tasks));
  if (bits === undefined) return undefined;
  const done: number[] = [];
  for (let i = 0; i < bits.size; i++) if (bits.has(i)) done.push(first + i);
  const open: [number, SavedOpenTask][] = [];
  for (const [text, entry] of Object.entries(value.open)) {
    const task = Number(text);
    if (String(task) !== text || task < first || task >= first + bits.size) return undefined;
    if (bits.has(task - first)) return undefined;
    const numbers = new Set(entry.attempts.map(({ attempt }) => attempt));
    if (numbers.size < entry.attempts.length || Math.max(0, ...numbers) > entry.last) return undefined;
    open.push([task, entry]);
  }
  return { done, open };
}

const sizeOf = (block: number, tasks: number): number => Math.min(BLOCK_TASKS, tasks - block * BLOCK_TASKS);
