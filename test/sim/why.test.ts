/** Why a job makes no progress: one cause after the other is injected, and the first sentence names it. */
import { describe, expect, test } from 'vitest';
import type { Shell } from '../../src/base/seams.ts';
import { createPserverGroup } from '../../src/cluster/client/pserver-group.ts';
import { groupingOf } from '../../src/cluster/job/job-plan.ts';
import { parseJobRecord } from '../../src/cluster/job/job-record.ts';
import { followPlacement } from '../../src/cluster/placement/placement-view.ts';
import { describeJob, type JobStatus } from '../../src/view/describe-job.ts';
import type { CauseKind } from '../../src/view/why/cause.ts';
import { whyOf } from '../../src/view/why/why.ts';
import { KEYS } from './job-keys.ts';
import { Scenario, type ScenarioOptions } from './scenario.ts';
import { DATA_DIR } from './workload.ts';

/** No process loses its lease by what is injected, while the answer is waited for. */
const LONG_LEASE = { leaseTtlMs: 15_000 };
/** After the cause, at the latest. */
const ANSWERED_WITHIN_MS = 10_000;
/** In some schedules something else is in the way first, such as bad records or a slow start: not in those of this. */
const SEED = 5;

async function look(scenario: Scenario): Promise<JobStatus> {
  const status = await scenario.done('a look', describeJob(scenario.store, KEYS, scenario.network));
  return status!;
}

/** Until a record was trained on. */
async function underWay(options: ScenarioOptions): Promise<Scenario> {
  const scenario = new Scenario({ seed: SEED, ...options });
  for (;;) {
    await scenario.pass(100);
    if (scenario.cluster.store.data.get(KEYS.masterAddr) === undefined) continue;
    const { processes } = await look(scenario);
    const isTraining = processes.some(
      ({ answer }) =>
        answer.kind === 'info' && answer.info.role === 'trainer' && 'records' in answer.info && answer.info.records > 0,
    );
    if (isTraining) return scenario;
  }
}

/** The first sentence that says so; fails when one names another cause but `before`, or none says so in time. */
async function firstSentence(scenario: Scenario, kind: CauseKind, says = /./, before?: CauseKind): Promise<string> {
  const sinceMs = scenario.timeline.nowMs;
  for (;;) {
    const [cause] = whyOf(await look(scenario));
    if (cause?.kind === kind && says.test(cause.sentence)) return cause.sentence;
    const saw = cause === undefined ? 'nothing' : `${cause.kind}: ${cause.sentence}`;
    const isLate = scenario.timeline.nowMs - sinceMs > ANSWERED_WITHIN_MS;
    const isOther = cause !== undefined && !['work', kind, before].includes(cause.kind);
    if (isLate || isOther) throw new Error(`expected ${kind}, saw ${saw}`);
    await scenario.pass(250);
  }
}

const trainerId = async (scenario: Scenario, name: string): Promise<string> => {
  const { processes } = await look(scenario);
  const found = processes.find(({ answer }) => answer.kind === 'info' && answer.info.host === name.replace(' ', '-'));
  return found!.id.slice(0, 8);
};

function stop(scenario: Scenario, name: string): void {
  const process = scenario.named(name).running!;
  process.stop();
  scenario.cluster.network.stopped(process, () => true);
}

const HANGS: Shell = { run: () => new Promise(() => {}) };

describe('the first sentence names', () => {
  test('nothing, while the job makes progress', async () => {
    const scenario = await underWay({ mode: 'async' });
    expect(whyOf(await look(scenario))).toEqual([]);
    await scenario.result();
    expect(whyOf(await look(scenario))).toEqual([{ kind: 'ended', sentence: 'Job account is done.' }]);
  });

  test('a stopped trainer, with the records that it has', async () => {
    const scenario = await underWay({ mode: 'async', cluster: LONG_LEASE });
    const id = await trainerId(scenario, 'trainer 1');
    stop(scenario, 'trainer 1');
    const sentence = await firstSentence(scenario, 'trainer');
    expect(sentence).toMatch(
      new RegExp(
        `^Trainer ${id} at \\S+ does not answer: .*; it has task \\d+ of pass 1 \\(train/[ab] records \\d+ to`,
      ),
    );
  });

  test('a full disk', async () => {
    const scenario = await underWay({ mode: 'async', checkpoint: { intervalMs: 200 } });
    scenario.named('pserver 1').machine.fillUp(0);
    expect(await firstSentence(scenario, 'checkpointFolder')).toMatch(/^Pserver 1 cannot write its checkpoints/);
  });

  test('a dead pserver', async () => {
    // With others, its next process may be at its address at once.
    const scenario = await underWay({ mode: 'async', cluster: LONG_LEASE, seed: 4 });
    scenario.named('pserver 1').kill(true);
    expect(await firstSentence(scenario, 'pserver')).toMatch(/^Pserver 1 at \S+ does not answer: it is dead/);
  });

  test('a slow pserver', async () => {
    const scenario = await underWay({ mode: 'async', cluster: LONG_LEASE, slowness: 4 });
    scenario.named('pserver 1').setSlowness(60);
    expect(await firstSentence(scenario, 'slowPserver')).toMatch(/^Pserver 1 is slow: trainers wait \d+ ms/);
  });

  test('the store, when no role reaches it', async () => {
    const scenario = await underWay({ mode: 'async', cluster: LONG_LEASE });
    scenario.cluster.store.outage(true);
    // One role after the other asks it for something: of a single one, the lease is the cause.
    const says = /^The master.* pserver .* wait for the store simulated:/;
    expect(await firstSentence(scenario, 'store', says, 'lease')).toMatch(says);
  });

  test('a lease that runs out', async () => {
    const scenario = await underWay({ mode: 'async', cluster: LONG_LEASE });
    scenario.cluster.store.cutOff('pserver 1');
    expect(await firstSentence(scenario, 'lease')).toMatch(/^Pserver 1 waits for the store .*; its lease runs out/);
  });

  test('a trainer that others wait for at the staleness bound', async () => {
    const training = { staleness: { policy: 'wait' as const, bound: 1 } };
    const scenario = await underWay({ mode: 'async', cluster: LONG_LEASE, training });
    const close = await pullAndKeep(scenario, 'silent-one');
    const sentence = await firstSentence(scenario, 'staleness');
    expect(sentence).toMatch(
      /^Trainer silent-o has pushed nothing for \d+ s: \d pulls? waits? at the staleness bound of 1/,
    );
    close();
  });

  test('a trainer that the round waits for, with lane and records', async () => {
    const scenario = await underWay({ mode: 'sync', shape: { trainers: 1 }, cluster: LONG_LEASE });
    const id = await trainerId(scenario, 'trainer 0');
    scenario.named('trainer 0').machine.slowness = 1e6;
    const sentence = await firstSentence(scenario, 'barrier');
    expect(sentence).toMatch(
      new RegExp(
        `^Round \\d+ waits \\d+ s for trainer ${id} \\(in \\w+ for \\d+ s\\): lane \\d+ of round \\d+ \\(pass \\d, task \\d+: train/[ab] records`,
      ),
    );
  });

  test('a missing data folder', async () => {
    const scenario = await underWay({ mode: 'async' });
    const { disk } = scenario.named('trainer 1').machine;
    for (const file of ['a', 'b']) await disk.remove(`${DATA_DIR}/train/${file}`);
    const sentence = await firstSentence(scenario, 'data');
    expect(sentence).toMatch(/^Trainer \w+ failed at task \d+ of pass 1 \(train\/.*: DataMissing: .*\/data\/train/);
  });

  test('too few trainers', async () => {
    const scenario = new Scenario({ mode: 'async', cluster: { minTrainers: 4 } });
    await scenario.pass(5_000);
    expect(await firstSentence(scenario, 'trainers')).toMatch(/^3 of 4 trainers are running/);
  });

  test('copies that are not in sync', async () => {
    const shape = { replicas: 2, minInSync: 2 };
    const scenario = await underWay({ mode: 'async', shape, cluster: { leaseTtlMs: 3_000 } });
    scenario.cluster.network.block('pserver 0', 'pserver 1');
    scenario.cluster.network.block('pserver 1', 'pserver 0');
    expect(await firstSentence(scenario, 'copies')).toMatch(/^Pushes wait for 2 copies in sync \(cluster.minInSync\)/);
  });

  test('a command of the job that hangs', async () => {
    const scenario = new Scenario({ mode: 'async', hooks: { before: ['load the data'], after: [] }, shell: HANGS });
    await scenario.pass(3_000);
    expect(await firstSentence(scenario, 'hook')).toMatch(
      /^The master runs hook before\[0\] of the job for \d+ s: load the data/,
    );
  });
});

/** A client that pulls to train, and then does nothing. The function returned ends it. */
async function pullAndKeep(scenario: Scenario, trainer: string): Promise<() => void> {
  const entry = scenario.cluster.store.data.get(KEYS.job)!;
  const record = parseJobRecord(entry.key, entry.value);
  const { host } = scenario.operator;
  const context = { host, network: scenario.network, store: scenario.store, keys: KEYS };
  const view = followPlacement(context, groupingOf(record), (error) => {
    throw error;
  });
  const group = createPserverGroup(context, record, view);
  const { signal } = new AbortController();
  const header = { hold: { trainer, pushes: 1 }, dense: [], sparse: [] };
  await scenario.done(
    'a pull',
    group.withPlacement(
      'a pull',
      ({ pservers }) => group.ask(pservers[0]!, 'pull', header).then((reply) => reply.free()),
      signal,
    ),
  );
  return () => {
    group.close();
    view.cancel();
  };
}
