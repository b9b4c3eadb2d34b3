/** What docs/operations.md shows of status, evaluate and /metrics is what they print. */
import { expect, it } from 'vitest';
import type { UnitCopiesStatus } from '../../../src/cluster/client/describe-copies.ts';
import { scoredText } from '../../../src/commands/base/result-text.ts';
import { renderTable } from '../../../src/commands/base/table.ts';
import { copiesLine, copiesTable } from '../../../src/commands/status/copies-text.ts';
import { statusText } from '../../../src/commands/status/status-text.ts';
import { createMetricsRegistry } from '../../../src/host/metrics.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import { registerPserverMetrics } from '../../../src/roles/pserver/metrics.ts';
import type { LiveProcess } from '../../../src/view/describe-job.ts';
import { healthOf } from '../../../src/view/health.ts';
import type { RoleInfo } from '../../../src/view/info.ts';
import { viewOf } from '../../../src/view/job-view.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import * as infos from '../../cluster/role-infos.ts';
import { sampleIn } from '../../samples.ts';

const TERMINAL = { isTTY: false } as NodeJS.WriteStream;
const asTable = { table: (...[columns, rows]: TableOf) => renderTable(columns, rows, TERMINAL), isWide: false };
type TableOf = Parameters<Parameters<typeof copiesTable>[1]['table']>;

/** What follows each command of the sample, by the command. */
const shown = new Map(
  sampleIn('docs/operations.md', '$ dist/paddlet status')
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...lines] = part.trimEnd().split('\n');
      return [command.split('  ')[0]!, lines.join('\n')] as const;
    }),
);

const JOB = parseJobFile(
  'job.yaml',
  'name: synth-fm\ndata: {format: libsvm, train: a}\nmodel: {type: fm}\ntraining: {passes: 40}\ncluster: {pservers: 2}\n',
);

/** Of all the time of a role, in thousandths. */
const TRAINER = { start: 0, read: 20, pull: 720, compute: 40, push: 70, wait: 30, idle: 80, parse: 0, route: 40 };
const PSERVER = { other: 282, pull: 22, push: 72, copies: 0, moves: 0, save: 0, idle: 624 };

const live = (info: RoleInfo, id: string, pid: number, port: number): LiveProcess => {
  const answer = { kind: 'info' as const, info: { ...info, pid } };
  return { role: info.role, id, address: `127.0.0.1:${port}`, lease: 'a', answer };
};

function pserver(index: number, rows: number, updates: number): RoleInfo {
  const held = { units: 32, shards: 256, bytes: 100_000, spentMs: PSERVER, rows, updates };
  return { ...infos.asyncPserver(index, 0), ...held } as RoleInfo;
}

function trainer(records: number, loss: number): RoleInfo {
  return { ...infos.workingTrainer, phase: 'pull', spentMs: TRAINER, changeoverMs: 170, records, loss } as RoleInfo;
}

const MASTER = infos.asyncMaster({
  passes: 40,
  records: 100_000,
  recordsPerSecond: 96_000,
  trainers: { a: { address: '', loss: 0.4924 }, b: { address: '', loss: 0.5035 } },
  tasks: infos.taskCounts({ pass: 11, total: 50, todo: 15, pending: 5, done: 30 }),
  sums: { read: 1_160_000, good: 1_160_000, bad: 0, duplicate: 0 },
});

it('status', () => {
  const record = recordOf(JOB, { train: { records: 100_000, tasks: 50 } });
  const processes = [
    live(MASTER, 'master', 28_591, 39_439),
    live(pserver(0, 307, 9_279), '0', 28_592, 38_803),
    live(pserver(1, 293, 9_301), '1', 28_593, 43_821),
    live(trainer(576_256, 0.4924), '421f7240-2c4f-4a53-9a58-0c5b7b1d2f10', 28_605, 33_907),
    live(trainer(587_664, 0.5035), '55a85673-2c4f-4a53-9a58-0c5b7b1d2f10', 28_598, 34_609),
  ];
  const share = { status: 'up', isLeaving: false, units: 32, copies: 0, bytes: 100_000, labels: {} } as const;
  const pservers = [0, 1].map((index) => ({ ...share, index }));
  const status = {
    ...{ record, processes, end: undefined, stopRequested: false, checkpoints: [], command: undefined },
    written: { cluster_status: 'OK' as const, reason: '', nodes: [0, 1] },
    health: healthOf(record.job.cluster, processes),
    wanted: { pservers: 2, trainers: undefined },
    spread: { units: 64, pservers, missing: [], orphans: 0, toMove: 0, lacking: [], isTold: true },
  };
  const view = viewOf({ seen: status, atMs: 0, wallSeconds: 1_700_000_000 });
  expect(statusText(view, {}, 1_700_000_000, asTable)).toBe(shown.get('dist/paddlet status'));
});

it('evaluate', () => {
  const metrics = {
    logloss: 0.53751,
    auc: 0.7931,
    accuracy: 0.7265,
    rmse: 0.42487,
    calibration: 0.98,
    records: 20_000,
  };
  expect(`synth/test.libsvm: ${scoredText(metrics)}`).toBe(shown.get('dist/paddlet evaluate'));
});

it('a series of a pserver', async () => {
  const registry = createMetricsRegistry({ job: 'synth-fm', role: 'pserver', index: '0' }, '1');
  const clock = { monotonicMs: () => 0, idleMs: () => 0 };
  const metrics = registerPserverMetrics(
    registry,
    clock,
    () => undefined,
    () => undefined,
  );
  for (let push = 0; push < 12_188; push++) metrics.pushed('applied', 1);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.includes('pserver_pushes'));
  const [command] = [...shown.keys()].filter((words) => words.startsWith('curl '));
  expect(lines.join('\n')).toBe(shown.get(command!));
});

it('copies of units', () => {
  const unitOf = (unit: number, other: UnitCopiesStatus['told']): UnitCopiesStatus => {
    return { unit, primary: 1, inSync: unit === 7 ? [1] : [1, 2], told: other };
  };
  const told = { epoch: 1, staged: 0, committed: 1_204 };
  const units = Array.from({ length: 12 }, (_, unit) => {
    if (unit === 3) return unitOf(unit, { ...told, unit, copies: [{ index: 2, state: 'inSync', behind: 2 }] });
    return unitOf(unit, { ...told, unit, copies: unit === 7 ? [{ index: 0, state: 'copying' }] : [] });
  });
  const table = copiesTable(units, { ...asTable, replicas: 2 });
  expect(`${copiesLine(units, 2)}\n…\n${table}\n`).toBe(sampleIn('docs/operations.md', 'copies: '));
});
