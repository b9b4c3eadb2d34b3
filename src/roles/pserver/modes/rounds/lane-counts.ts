/**
 * Sync mode: checks the mini-batch and the counts of a lane against the round plan and against the lane that is already
 * kept.
 */
import { PaddletError } from '../../../../base/errors.ts';
import { whyWrongMetrics } from '../../../../core/report-counts.ts';
import type { LaneBatch, RoundPlan } from '../../../../core/rounds/plan.ts';
import { type CountsOf, checkCounts, contradiction } from '../../requests/counts.ts';
import type { Header } from '../../requests/requests.ts';
import type { Lane } from './lanes.ts';

export interface LaneCountsOf extends CountsOf {
  readonly batches: Pick<RoundPlan, 'batchOf' | 'placeOf'>;
}

type LaneHeader = Header<'pushLane'>;

/**
 * Throws `BadMessage` for a round after the last and for a mini-batch that differs from the plan, and `WrongCounts` for
 * impossible counts. If the counts contradict those of another trainer, it also calls `onContradiction`.
 */
export function checkLane(of: LaneCountsOf, header: LaneHeader): void {
  const { batches, ledgers } = of;
  const { round, lane, batch, records, metrics } = header;
  // After the last round, the plan accepts empty lanes, so without this check a client could go beyond the end of the
  // job.
  if (batches.placeOf(round) === undefined) {
    throw new PaddletError('BadMessage', `lane ${lane} of round ${round}: the job ends before this round`);
  }
  const planned = batches.batchOf(round, lane);
  if (!isSameBatch(planned, batch)) {
    throw new PaddletError('BadMessage', `lane ${lane} of round ${round}: the plan has a different mini-batch`);
  }
  if (metrics.records !== records) throw wrong(header, `${records} records, but metrics of ${metrics.records}`);
  const why = whyWrongMetrics(metrics);
  if (why !== undefined) throw wrong(header, why);
  if (batch === undefined || planned === undefined) return;
  if (records > planned.to - planned.from) {
    throw wrong(header, `${records} good records of ${planned.to - planned.from}`);
  }
  checkCounts(of, batch);
  for (const { next, good } of ledgers.applied(batch.pass, batch.task)) {
    if (next === batch.push && batch.good - good !== records) throw wrongSum(header, batch.good - good);
  }
}

/** Checks a lane against the same lane that the round already has. */
export function checkSameLane({ onContradiction }: Pick<CountsOf, 'onContradiction'>, kept: Lane, other: LaneHeader) {
  const { batch, records } = other;
  if (batch === undefined || kept.position === undefined || kept.records === records) return;
  const error = contradiction(batch, `${records} good records in push ${batch.push}, where ${kept.records} are kept`);
  onContradiction(error);
  throw error;
}

function isSameBatch(planned: LaneBatch | undefined, batch: LaneHeader['batch']): boolean {
  if (planned === undefined || batch === undefined) return planned === batch;
  const { pass, task, push, last } = batch;
  return pass === planned.pass && task === planned.task && push === planned.push && last === planned.last;
}

const wrongSum = (header: LaneHeader, added: number): PaddletError =>
  wrong(header, `${header.records} good records, but \`good\` of the task rises by ${added}`);

const wrong = ({ round, lane }: LaneHeader, why: string): PaddletError =>
  new PaddletError('WrongCounts', `lane ${lane} of round ${round}: ${why}`);
