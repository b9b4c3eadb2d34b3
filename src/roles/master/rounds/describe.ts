/** What the master tells of the rounds: for `status`, for messages, for /metrics. */
import { Gauge, type Registry } from 'prom-client';
import type { RoundsInfo } from '../../../cluster/info.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import { type Dataset, describeRecords } from '../dataset.ts';
import type { Parts } from './training.ts';

/** File and records of a lane in a round. */
export function describeLane(dataset: Dataset, plan: RoundPlan, round: number, lane: number): string {
  const batch = plan.batchOf(round, lane);
  const name = `lane ${lane} of round ${round}`;
  if (batch === undefined) return `${name} (empty)`;
  const { pass, task, from, to } = batch;
  return `${name} (pass ${pass + 1}, task ${task}: ${describeRecords(dataset, task, from, to)})`;
}

/** Undefined when all rounds are done. */
export function waitReason({ options, watch, desk, rounds }: Parts): string | undefined {
  const missing = desk.missingTrainers();
  if (missing > 0) return `${missing} more trainers must join (cluster.minTrainers)`;
  const now = watch.current();
  if (now === undefined) return 'the pservers are not all there, or are set back to the cut';
  if (now.version >= rounds) return undefined;
  const at = watch.pservers().filter(({ version }) => version === now.version);
  const sinceMs = Math.min(...at.map((one) => one.sinceMs));
  const seconds = ((options.context.host.clock.monotonicMs() - sinceMs) / 1000).toFixed(1);
  const who = [...new Set(now.missing.flatMap((lane) => desk.owners()[lane] ?? []))];
  const where = at.map(({ index }) => index).join(', ');
  return `round ${now.version} waits for lanes ${now.missing.join(', ')} of trainers ${who.join(', ')} at pserver ${where}, for ${seconds} s`;
}

/** `records` are those that stand in the rounds that are over, bad ones included, to within a round. */
export function describeRounds({ options, plan, rounds, watch, desk, cuts, followed }: Parts): RoundsInfo {
  const { record, context } = options;
  const { passes } = record.job.training;
  const at = context.host.clock.monotonicMs();
  const now = watch.current();
  const place = now && plan.placeOf(now.version);
  const ofPass = place && { round: place.round, rounds: plan.roundsOf(place.pass) };
  const passesDone = place === undefined ? passes : place.pass + place.round / Math.max(1, plan.roundsOf(place.pass));
  const cut = followed.current()?.cut;
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
    lanes: desk.owners(),
    helped: desk.helped(),
    pservers: watch.pservers().map(({ index, timeline, version, missing, sinceMs }) => {
      return { index, timeline, version, missing, waitedMs: Math.round(at - sinceMs) };
    }),
    ...(cut && { timeline: cut.timeline, cut: { round: cut.round, files: cut.files.length } }),
    cuts: cuts.counts(),
    ...(cuts.running() === undefined ? {} : { cutting: cuts.running() }),
  };
}

export function registerLaneMetrics(registry: Registry, { watch, desk, cuts, followed }: Parts): void {
  const gauge = (name: string, help: string, value: () => number | undefined): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const now = value();
        if (now !== undefined) this.set(now);
      },
    });
  };
  gauge('paddlet_master_round', 'Mode sync: the round in work, by the pserver that is furthest behind', () => {
    return watch.current()?.version;
  });
  gauge('paddlet_master_missing_lanes', 'Mode sync: lanes that the round in work waits for', () => {
    return watch.current()?.missing.length;
  });
  gauge('paddlet_master_timeline', 'Mode sync: how often all pservers were set back', () => {
    return followed.current()?.cut.timeline;
  });
  gauge('paddlet_master_cut_round', 'Mode sync: the round of the last complete cut', () => {
    return followed.current()?.cut.round;
  });
  gauge('paddlet_master_cuts', 'Mode sync: cuts completed by this master', () => cuts.counts().complete);
  gauge('paddlet_master_helped_lanes', 'Mode sync: lanes that got a second trainer', desk.helped);
}
