/** The master adds figures of tables to the history when passes end. */
import { expect, it } from 'vitest';
import { NO_HISTORY } from '../../../src/core/history.ts';
import type { TablesPoint } from '../../../src/core/table-history.ts';
import { TableSamples } from '../../../src/roles/master/table-samples.ts';
import type { Training } from '../../../src/roles/master/training.ts';
import { TABLES } from '../../cluster/role-infos.ts';
import { FakeClock } from '../../store/support.ts';
import { groupThat } from './fake-group.ts';

/** `saved`: points of a master before. */
function samplesOf(tables: object = { v: { maxBytes: 80_000 } }, passes = 4, saved: readonly TablesPoint[] = []) {
  const points: TablesPoint[] = [];
  const asked: string[] = [];
  const state = { ended: 0 };
  const training = {
    passesEnded: () => state.ended,
    sampled: async (point: TablesPoint) => void points.push(point),
    history: () => ({ ...NO_HISTORY, tables: saved }),
  } as unknown as Training;
  const work = {
    context: { host: { clock: new FakeClock() } },
    record: { job: { tables, training: { passes } } },
    group: groupThat((index, type) => {
      asked.push(`${type} ${index}`);
      return { tables: TABLES };
    }),
    stopSignal: new AbortController().signal,
    onFatal: (error: unknown) => {
      throw error;
    },
  } as unknown as ConstructorParameters<typeof TableSamples>[0];
  const samples = new TableSamples(work, () => training);
  const end = async (ended: number): Promise<void> => {
    state.ended = ended;
    samples.passesEnded(ended);
    await samples.settled();
  };
  return { samples, state, points, asked, end };
}

it('asks all pservers after each pass but the last, once', async () => {
  const { points, asked, end } = samplesOf();
  for (const ended of [1, 1, 2, 4]) await end(ended);
  expect(points.map(({ passes }) => passes)).toEqual([1, 2]);
  expect(asked).toEqual(['account 0', 'account 1', 'account 0', 'account 1']);
  expect(points[0]!.tables).toMatchObject([
    { name: 'v', rows: 2_400, admitted: 4_000 },
    { name: 'w', rows: 10_000, refused: 0 },
  ]);
});

it('keeps the point that a master before this one has saved', async () => {
  const saved = [{ timeMs: 1, passes: 2, tables: [] }];
  const { points, end } = samplesOf(undefined, undefined, saved);
  for (const ended of [2, 3]) await end(ended);
  expect(points.map(({ passes }) => passes)).toEqual([3]);
});

it('asks nothing in a job without such tables', async () => {
  const { asked, end } = samplesOf({ v: { optimizer: { type: 'sgd' } } });
  await end(1);
  expect(asked).toEqual([]);
});

it('drops figures that came when the next pass had ended', async () => {
  const { samples, state, points } = samplesOf();
  state.ended = 1;
  samples.passesEnded(1);
  state.ended = 2;
  samples.passesEnded(2);
  await samples.settled();
  expect(points).toEqual([]);
});
