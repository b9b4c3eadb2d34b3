/**
 * examples/monitoring with a real Prometheus: promtool accepts its files; a real job is found through its master;
 * alerts fire under their faults and are silent otherwise; restarts add no series.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, type Place } from './harness.ts';
import { JOB, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';
import { findPrometheus, MONITORING, Prometheus } from './prometheus.ts';
import { describeProcesses, JOB_FOLDER, type LiveProcess } from './run.ts';

const programs = findPrometheus();
const reason = programs === undefined ? 'no Prometheus: run scripts/fetch-prometheus.sh' : whyNoEtcd();

const PSERVERS = 2;
const TRAINERS = 2;
const PROCESSES = 1 + PSERVERS + TRAINERS;
const SERIES_OF_A_PROCESS = 220;
const KILLS = 20;

const WATCHED = {
  ...JOB,
  // It does not end before the test.
  training: { ...JOB.training, passes: 100_000 },
  checkpoint: { interval: '6s' },
  cluster: { ...JOB.cluster, pservers: PSERVERS, trainers: TRAINERS, replicas: 2, leaseTtl: '15s' },
};
const SLOWLY = 'trainer.dealt:delay=20';

interface Watched {
  readonly place: Place;
  readonly running: Running;
  readonly prometheus: Prometheus;
  /** Those that answer, the master first, then pservers by index. */
  processes(): Promise<LiveProcess[]>;
}

async function watch(job: object, fail: string, store: readonly string[]): Promise<Watched> {
  const place = openPlace();
  const args = ['run', await plantedJob(place, job), '--dir', JOB_FOLDER, '--expose-metrics', ...store];
  const running = place.start('run', args, { PADDLET_FAIL: fail });
  const [, master] = await running.said(/page at (http:\/\/\S+\/);/);
  const prometheus = await Prometheus.start(place, programs!, master!);
  const where = store.length > 0 ? store : ['--dir', JOB_FOLDER];
  const order = (one: LiveProcess): string => `${one.role} ${one.index ?? one.id ?? ''}`;
  const processes = async (): Promise<LiveProcess[]> =>
    (await describeProcesses(place, where, PROCESSES)).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  return { place, running, prometheus, processes };
}

/** What fires from the fault until all is well again: at least `alert`. */
async function under({ prometheus }: Watched, alert: string, fault: () => void, repair: () => void): Promise<string[]> {
  const since = await prometheus.now();
  fault();
  await prometheus.fires(alert).finally(repair);
  await prometheus.calm(PROCESSES);
  return prometheus.fired(since);
}

const signal = (targets: readonly LiveProcess[], name: NodeJS.Signals) => (): void => {
  for (const { pid } of targets) process.kill(pid, name);
};
const ofRole = (all: readonly LiveProcess[], role: LiveProcess['role']): LiveProcess[] =>
  all.filter((one) => one.role === role);

/** A file in its place, which root cannot write into either. */
const folderOf = (folder: string) => ({
  take: () => {
    renameSync(folder, `${folder}.away`);
    writeFileSync(folder, 'a file');
  },
  giveBack: () => {
    rmSync(folder);
    renameSync(`${folder}.away`, folder);
  },
});

/** Panels of sync mode, of what has not happened, and of what is wrong have nothing to show. */
const EMPTY = /_round\{|_missing_lanes|_timeline|_moves_total|ALERTS|> 0$/;

async function expectDashboard({ prometheus }: Watched): Promise<void> {
  const { panels } = JSON.parse(readFileSync(join(MONITORING, 'dashboard.json'), 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      const asked = expr.replaceAll('$job', WATCHED.name).replaceAll('$__rate_interval', '15s');
      const found = await prometheus.query(asked);
      if (!EMPTY.test(expr)) expect(found, `${title}: ${asked}`).not.toEqual([]);
    }
  }
}

/** Kills one process after the other, each time one that lives; a trainer every second time. */
async function killMany({ processes }: Watched): Promise<void> {
  for (let kill = 0; kill < KILLS; kill++) {
    const all = await processes();
    const trainers = ofRole(all, 'trainer');
    const victim = kill % 2 === 0 ? trainers[0]! : all[Math.floor(kill / 2) % all.length]!;
    process.kill(victim.pid, 'SIGKILL');
  }
}

describe.skipIf(reason !== undefined)(`Prometheus${reason === undefined ? '' : ` (${reason})`}`, () => {
  test.each([
    ['check', 'config', 'prometheus.yml'],
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ])('promtool %s %s %s', (...args) => {
    const { status, stdout, stderr } = spawnSync(join(programs!, 'promtool'), args, {
      cwd: MONITORING,
      encoding: 'utf8',
    });
    expect(`${stdout}${stderr}`).toContain('SUCCESS');
    expect(status).toBe(0);
  });

  test('alerts fire under their faults, and are silent in a job that goes well; restarts add no series', async () => {
    const etcd = await startEtcd();
    const watched = await watch(WATCHED, SLOWLY, ['--store', etcd.url]);
    const { place, running, prometheus, processes } = watched;

    await prometheus.calm(PROCESSES);
    const healthy = await prometheus.now();
    await prometheus.looksFor(20);
    expect(await prometheus.fired(healthy)).toEqual([]);
    await expectDashboard(watched);
    const perProcess = await prometheus.query('count by (role, instance) ({job="planted",__name__!~"ALERTS.*"})');
    process.stdout.write(`series: ${perProcess.map(({ labels, value }) => `${labels.role} ${value}`).join(', ')}\n`);
    for (const { value } of perProcess) expect(value).toBeLessThanOrEqual(SERIES_OF_A_PROCESS);

    const [pserver] = ofRole(await processes(), 'pserver');
    const stopped = await under(watched, 'TargetDown', signal([pserver!], 'SIGSTOP'), signal([pserver!], 'SIGCONT'));
    expect(stopped).toEqual(['TargetDown']);

    const trainers = ofRole(await processes(), 'trainer');
    const quiet = await under(watched, 'NoProgress', signal(trainers, 'SIGSTOP'), signal(trainers, 'SIGCONT'));
    expect(quiet.filter((alert) => alert !== 'TargetDown')).toEqual(['NoProgress']);

    const folder = folderOf(place.path(JOB_FOLDER, 'checkpoints'));
    expect(await under(watched, 'CheckpointFailing', folder.take, folder.giveBack)).toEqual(['CheckpointFailing']);
    const old = await under(watched, 'CheckpointOld', folder.take, folder.giveBack);
    expect(old).toEqual(['CheckpointFailing', 'CheckpointOld']);

    const [gone] = ofRole(await processes(), 'pserver');
    const lacking = await under(watched, 'PserversMissing', signal([gone!], 'SIGSTOP'), signal([gone!], 'SIGCONT'));
    expect(lacking).toEqual(expect.arrayContaining(['CopiesLacking', 'PserversMissing']));
    expect(lacking).not.toContain('RecordsLost');

    const unreachable = await under(
      watched,
      'Trouble',
      () => void etcd.pause(),
      () => etcd.resume(),
    );
    expect(unreachable).toEqual(['Trouble']);

    const killed = await prometheus.now();
    await killMany(watched);
    await prometheus.fires('RestartsOften');
    const [{ value: series } = { value: 0 }] = await prometheus.query(
      'count(last_over_time({job="planted",__name__!~"ALERTS.*"}[1h]))',
    );
    process.stdout.write(`series after ${KILLS} kills: ${series}\n`);
    // Whatever else is seen of the kills, no record is.
    expect(await prometheus.fired(killed)).not.toContain('RecordsLost');
    expect(series).toBeGreaterThan(PROCESSES * 50);
    expect(series).toBeLessThanOrEqual(PROCESSES * SERIES_OF_A_PROCESS);

    await prometheus.calm(PROCESSES);
    const ended = await prometheus.now();
    running.kill('SIGINT');
    await running.ended;
    await prometheus.looksFor(10);
    expect(await prometheus.fired(ended)).toEqual([]);
  });

  const tooFast = {
    ...WATCHED,
    optimizer: { type: 'sgd', learningRate: 1e38, l2: 1 },
    training: { ...WATCHED.training, onBadGradient: 'clip', maxGradientNorm: 1e30 },
  };
  test.each([
    ['a learning rate that is too high', 'LossNotFinite', tooFast, SLOWLY],
    ['pservers that are slow', 'RequestsSlow', WATCHED, 'trainer.dealt:delay=3000,push.received:delay=1100'],
  ])('%s: %s', async (_, alert, job, fail) => {
    const { prometheus } = await watch(job, fail, []);
    await prometheus.fires(alert);
    const fired = await prometheus.fired();
    // A pserver that is stopped for a second each time may not answer in time.
    expect(fired.filter((name) => name !== 'TargetDown')).toEqual([alert]);
  });
});
