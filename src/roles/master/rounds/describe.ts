/** What the master tells of the rounds: for `status`, for messages, for /metrics. */
import type { Registry } from 'prom-client';
import { gauge } from '../../../cluster/series.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import type { RoundsInfo } from '../../../view/info.ts';
import { type Dataset, describeRecords, describeTask } from '../dataset.ts';
import type { RoundsState } from './state.ts';
import type { RoundPosition } from './watch.ts';

/** File and records of a lane in a round; of shuffled records those of its task, which they are among. */
export function describeLane(
  { dataset, plan, isShuffled }: { dataset: Dataset; plan: RoundPlan; isShuffled: boolean },
  round: number,
  lane: number,
): string {
  const batch = plan.batchOf(round, lane);
  const name = `lane ${lane} of round ${round}`;
  if (batch === undefined) return `${name} (empty)`;
  const { pass, task, from, to } = batch;
  const where = isShuffled ? describeTask(dataset, task) : describeRecords(dataset, task, from, to);
  return `${name} (pass ${pass + 1}, task ${task}: ${where})`;
}

/** Undefined when all rounds that may be computed are done. */
export function waitReason({ options, watch, service, until }: RoundsState): string | undefined {
  const missing = service.missingTrainers();
  if (missing > 0) return `${missing} more trainers must join (cluster.minTrainers)`;
  const now = watch.current();
  if (now === undefined) {
    const suspended = watch.suspended();
    if (suspended.length === 0) return 'a pserver is missing, or all are being set back to the cut';
    return `pserver ${suspended.join(', ')}: suspended, as the store has not renewed the lease`;
  }
  if (now.version >= until) return undefined;
  const at = watch.pservers().filter(({ version }) => version === now.version);
  const sinceMs = Math.min(...at.map((one) => one.sinceMs));
  const seconds = ((options.context.host.clock.monotonicMs() - sinceMs) / 1000).toFixed(1);
  const who = [...new Set(now.missing.flatMap((lane) => service.owners()[lane] ?? []))];
  const where = at.map(({ index }) => index).join(', ');
  return `round ${now.version} waits for lanes ${now.missing.join(', ')} of trainers ${who.join(', ')} at pserver ${where}, for ${seconds} s`;
}

/** `records` are those of the completed rounds, bad ones included, to within a round. */
export function describeRounds(state: RoundsState): RoundsInfo {
  const { options, plan, rounds, watch, service, cuts, stored } = state;
  const { record, context } = options;
  const { passes } = record.job.training;
  const at = context.host.clock.monotonicMs();
  const now = watch.current();
  const place = now && plan.placeOf(now.version);
  const ofPass = place && { round: place.round, rounds: plan.roundsOf(place.pass) };
  const passesDone = place === undefined ? passes : place.pass + place.round / Math.max(1, plan.roundsOf(place.pass));
  const cut = stored.current()?.cut;
  return {
    total: rounds,
    ...(now === undefined
      ? {}
      : {
          round: now.version,
          pass: place?.pass ?? passes,
          ...(ofPass && { ofPass }),
          records: Math.round(passesDone * record.train.records),
        }),
    lanes: service.owners(),
    helped: service.helped(),
    pservers: watch.pservers().map(({ index, timeline, version, missing, sinceMs }) => {
      // No lane is computed of a round where training halts, and none is waited for.
      const waitsFor = version < state.until ? missing : [];
      return { index, timeline, version, missing: waitsFor, waitedMs: Math.round(at - sinceMs) };
    }),
    missing: now === undefined || now.version >= state.until ? [] : missingLanes(state, now),
    ...(cut && { timeline: cut.timeline, cut: { round: cut.round, files: cut.files.length } }),
    cuts: cuts.counts(),
    ...(cuts.running() === undefined ? {} : { cutting: cuts.running() }),
  };
}

/** For people: the first ones say what is waited for. */
const MOST_DESCRIBED = 3;

function missingLanes({ options, plan, service }: RoundsState, { version, missing }: RoundPosition) {
  const { dataset, record } = options;
  const owners = service.owners();
  const isShuffled = record.job.data.shuffle === 'records';
  return missing.slice(0, MOST_DESCRIBED).map((lane) => ({
    lane,
    trainers: [...(owners[lane] ?? [])],
    what: describeLane({ dataset, plan, isShuffled }, version, lane),
  }));
}

export function registerLaneMetrics(registry: Registry, { watch, service, cuts, stored }: RoundsState): void {
  gauge(
    registry,
    'paddlet_master_round',
    'Sync mode: the current round, by the pserver that is furthest behind',
    () => {
      return watch.current()?.version;
    },
  );
  gauge(registry, 'paddlet_master_missing_lanes', 'Sync mode: lanes that the current round waits for', () => {
    return watch.current()?.missing.length;
  });
  gauge(registry, 'paddlet_master_timeline', 'Sync mode: how often all pservers were set back', () => {
    return stored.current()?.cut.timeline;
  });
  gauge(registry, 'paddlet_master_cut_round', 'Sync mode: the round of the last complete cut', () => {
    return stored.current()?.cut.round;
  });
  gauge(registry, 'paddlet_master_cuts', 'Sync mode: cuts completed by this master', () => cuts.counts().complete);
  gauge(registry, 'paddlet_master_helped_lanes', 'Sync mode: lanes that got a second trainer', service.helped);
}
