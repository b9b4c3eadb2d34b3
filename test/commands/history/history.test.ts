/** `paddlet history` of a job in a store. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OUTPUTS } from '../../../scripts/output-schema/index.ts';
import { sparkline } from '../../../src/commands/base/curve-text.ts';
import {
  historyText,
  NO_HISTORY,
  withEvaluation,
  withPass,
  withTables,
  withTrained,
} from '../../../src/core/history.ts';
import { TABLES } from '../../cluster/role-infos.ts';
import { put } from '../../store/support.ts';
import { runCommand } from '../run-command.ts';
import { keys, storedJob } from '../saved-job.ts';

const sums = (records: number, loss: number) => {
  return { records, weight: records, loss, correct: records / 2, squaredError: records / 4, pass: 0 };
};

/** Two windows of 100 records with a mean loss of 0.5 and 0.25, a pass, an evaluation. */
async function aJob() {
  const job = await storedJob();
  const first = withTrained(NO_HISTORY, { ...sums(100, 50), timeMs: 1_000 });
  const second = withTrained(first, { ...sums(200, 75), timeMs: 2_000 });
  const ended = withPass(second, { ...sums(200, 75), timeMs: 2_000 });
  const metrics = { records: 9, logloss: 0.2, auc: 0.9, accuracy: 0.8, rmse: 0.3 };
  const all = withEvaluation(ended, { name: 'test', timeMs: 3_000, passes: 1, trained: 200, metrics });
  await put(job.store, keys.history, historyText(all));
  const history = (...flags: string[]) => runCommand(['history', '--dir', job.folder, ...flags], { cwd: job.cwd });
  return { ...job, history };
}

it('shows windows with their own metrics, passes and evaluations, and the curve', async () => {
  const { history } = await aJob();
  const { code, out } = await history();
  expect(code).toBe(0);
  expect(out.split('\n').map((line) => line.trim().split(/ +/).slice(1, 6))).toEqual([
    ['what', 'pass', 'trained', 'records', 'logloss'],
    ['train', '1', '100', '100', '0.50000'],
    ['train', '1', '200', '100', '0.25000'],
    ['pass', '1', '200', '0.37500', '0.50000'],
    ['test', '1', '200', '9', '0.20000'],
    ['logloss', '█▁', '0.50000', '→', '0.25000'],
    [],
  ]);
});

it('shows metrics of groups as results do', async () => {
  const { store, history } = await aJob();
  const metrics = { records: 9, auc: 0.9, groupedAuc: 0.8, hitRate: 0.7, ndcg: 0.6, topK: 5, calibration: 1.25 };
  const evaluated = { name: 'test', timeMs: 3_000, passes: 1, trained: 200, metrics };
  const one = withEvaluation(NO_HISTORY, evaluated);
  await put(store, keys.history, historyText(one));
  const [heads = '', line = ''] = (await history()).out.split('\n');
  expect(heads.trim().split(/ {2,}/).slice(5)).toEqual(['auc', 'grouped auc', 'hr@5', 'ndcg@5', 'calibration']);
  expect(line.trim().split(/ +/).slice(5)).toEqual(['0.90000', '0.80000', '0.70000', '0.60000', '1.250']);
  const other = { ...evaluated, timeMs: 4_000, passes: 2, metrics: { ...metrics, topK: 10 } };
  await put(store, keys.history, historyText(withEvaluation(one, other)));
  expect((await history()).out).toMatch(/ hr +ndcg /);
});

it('as JSON lines has one object a point, and as JSON all of them', async () => {
  const { history } = await aJob();
  const lines = (await history('--as', 'jsonl')).out.trim().split('\n');
  const points = lines.map((line) => JSON.parse(line) as unknown);
  expect(points).toEqual([
    { kind: 'train', time: 1, pass: 0, trained: 100, records: 100, logloss: 0.5, accuracy: 0.5, rmse: 0.5 },
    { kind: 'train', time: 2, pass: 0, trained: 200, records: 100, logloss: 0.25, accuracy: 0.5, rmse: 0.5 },
    { kind: 'pass', time: 2, pass: 0, records: 200, logloss: 0.375, accuracy: 0.5, rmse: 0.5 },
    {
      ...{ kind: 'evaluation', time: 3, name: 'test', passes: 1, trained: 200 },
      ...{ records: 9, logloss: 0.2, auc: 0.9, accuracy: 0.8, rmse: 0.3 },
    },
  ]);
  expect(JSON.parse((await history('--json')).out)).toEqual({ job: 'small', points });
});

it('has tables with admission, eviction or a bound, at the ends of passes', async () => {
  const { store, history, cwd } = await aJob();
  const [table] = TABLES;
  const { boundBytes: _, ...figures } = table!;
  const one = withTrained(NO_HISTORY, { ...sums(100, 50), timeMs: 1_000 });
  await put(store, keys.history, historyText(withTables(one, { timeMs: 2_000, passes: 1, tables: [figures] })));
  const lines = (await history()).out.trimEnd().split('\n').slice(-2);
  expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['table', 'passes', 'rows', 'candidates', 'size', 'admitted', 'not admitted', 'refused', 'evicted rows'],
    ['v', '1', '1200', '300', '72.0 kB', '2000', '9000', '4', '800'],
  ]);
  const point = { kind: 'table', time: 2, passes: 1, ...figures };
  const shown = JSON.parse((await history('--json')).out) as { points: object[] };
  expect(OUTPUTS.history!.parse(shown)).toEqual(shown);
  expect(shown.points.at(-1)).toEqual(point);
  const [, line] = (await history('--as', 'jsonl')).out.split('\n');
  expect(JSON.parse(line!)).toEqual(point);
  const { out } = await history('--as', 'tensorboard', '--output', join(cwd, 'runs'), '--json');
  expect(JSON.parse(out)).toMatchObject({ scalars: 3 + 9 });
});

it('writes one event file a job, again and again, and over no other', async () => {
  const { history, cwd, store } = await aJob();
  const out = join(cwd, 'runs');
  const tensorboard = () => history('--as', 'tensorboard', '--output', out, '--json');
  const first = JSON.parse((await tensorboard()).out) as { path: string; scalars: number };
  expect(first.scalars).toBe(3 + 3 + 3 + 4);
  const before = readFileSync(first.path);
  await put(store, keys.history, historyText(withTrained(NO_HISTORY, { ...sums(100, 50), timeMs: 1_000 })));
  expect(JSON.parse((await tensorboard()).out)).toEqual({ ...first, scalars: 3 });
  expect(readFileSync(first.path).length).toBeLessThan(before.length);
  expect(readdirSync(out)).toHaveLength(1);
  writeFileSync(first.path, 'of somebody else');
  const { code, out: refused } = await tensorboard();
  expect([code, JSON.parse(refused)]).toMatchObject([2, { error: { code: 'Usage' } }]);
  expect(readFileSync(first.path, 'utf8')).toBe('of somebody else');
});

it('of a job that has not begun says so', async () => {
  const { store, history, cwd } = await aJob();
  await put(store, keys.history, historyText(NO_HISTORY));
  expect(await history()).toMatchObject({ code: 0, out: 'job small has no points yet\n' });
  expect(await history('--as', 'jsonl')).toMatchObject({ code: 0, out: '' });
  expect((await history('--as', 'tensorboard', '--output', join(cwd, 'runs'))).code).toBe(0);
});

it('--output goes with --as tensorboard alone', async () => {
  const { history } = await aJob();
  expect((await history('--as', 'tensorboard')).code).toBe(2);
  expect((await history('--output', 'x')).code).toBe(2);
});

it('a curve is as wide as there is room, from its lowest to its highest part', () => {
  expect(sparkline([8, 7, 6, 5, 4, 3, 2, 1], 8)).toBe('█▇▆▅▄▃▂▁');
  expect(sparkline([8, 8, 0, 0], 2)).toBe('█▁');
  expect(sparkline([3, 3, 3], 8)).toBe('▁▁▁');
});
