/**
 * Continues a job with more passes, finished or not: one transaction raises `/passes_desired` and opens again what the
 * old number had closed. A process that dies at any point of it leaves the job as it was, or continued.
 *
 * No pserver may be alive, as each has read the number: one that claims its index later reads it again
 * (cluster/job/record-changes.ts).
 */
import { PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import { LIMITS } from '../../base/limits.ts';
import type { StoreContext } from '../../cluster/context.ts';
import { type JobRecord, recordIn } from '../../cluster/job/job-record.ts';
import { parseJobEnd } from '../../cluster/job/job-watch.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { untilNoneLeft } from '../../cluster/until-none-left.ts';
import { logWaiting } from '../../cluster/waiting.ts';
import { continued, evaluationStateSchema } from '../../core/evaluation-points.ts';
import { parseStoreValue, type QueueState, stateSchema } from '../../core/tasks/state.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Keys } from '../../store/keys.ts';
import type { Compare, KeyValue, Op } from '../../store/store.ts';

export interface RaisePassesOptions {
  readonly context: StoreContext;
  /** The master's. */
  readonly fence: Fence;
  /** The job, with fewer passes. */
  readonly record: JobRecord;
  readonly passes: number;
  /** Ends waiting for the pservers to leave: `Interrupted`. */
  readonly stopSignal: AbortSignal;
}

/** Returns the job with that number. `JobConflict` when pservers of an unfinished job do not leave. */
export async function raisePasses(options: RaisePassesOptions): Promise<JobRecord> {
  const { context, fence, record, passes } = options;
  const { keys, store } = context;
  for (;;) {
    const before = await retryStore(context, () => readBefore(options));
    if (before.passes >= passes) break;
    await pserversLeave(options, before.result !== undefined);
    failPoint('job.continuing');
    // A try that was given up may land late, but only once: it raises the revision that it compares.
    await retryStore(context, () => fencedTxn(store, fence, transactionOf(keys, record, before, passes)));
  }
  failPoint('job.continued');
  context.host.log.info(`job ${record.job.name} continues: ${record.job.training.passes} → ${passes} passes`);
  return { ...record, job: { ...record.job, training: { ...record.job.training, passes } } };
}

interface Before {
  readonly passes: number;
  /** `/passes_desired`. */
  readonly number: KeyValue;
  readonly state: KeyValue;
  readonly result: KeyValue | undefined;
  readonly evaluation: KeyValue | undefined;
}

/** Under the fence: only this master changes these keys from now on, except that a pserver may fail the job. */
async function readBefore({ context, fence, record }: RaisePassesOptions): Promise<Before> {
  const { keys, store } = context;
  const read = [keys.job, keys.psDesired, keys.passesDesired, keys.tasksState, keys.result, keys.evaluation];
  const gets = read.map((get) => ({ get }));
  const { results } = await fencedTxn(store, fence, { then: gets });
  const now = recordIn(keys, results);
  const [, , number, state, result, evaluation] = results;
  if (now?.id !== record.id || number === undefined || state === undefined)
    throw new PaddletError('JobConflict', `another job was published at ${keys.job} at the same time`);
  const end = result && parseJobEnd(result.key, result.value);
  // A pserver that was leaving found its parameters lost.
  if (end !== undefined && 'failure' in end) throw end.failure;
  return { passes: now.job.training.passes, number, state, result, evaluation };
}

/** Pservers of a finished job leave by themselves. */
async function pserversLeave({ context, record, stopSignal }: RaisePassesOptions, isFinished: boolean): Promise<void> {
  const { keys, host } = context;
  let names = '';
  const quiet = logWaiting(host.clock, host.log, () => `pservers to exit, before the job continues: ${names}`);
  const onLeft = (left: ReadonlyMap<string, string>): void => {
    names = [...left].map(([key, value]) => `${key} = ${value}`).join(', ');
  };
  // As long as a pserver waits for its index: a dead one's lease ends in that time.
  const patienceMs = isFinished ? undefined : 1.5 * record.job.cluster.leaseTtlMs + 500;
  const left = await untilNoneLeft(context, keys.psPrefix, { patienceMs, signal: stopSignal, onLeft }).finally(quiet);
  if (left.size === 0) return;
  throw new PaddletError('JobConflict', `pservers are alive: ${names}; ${record.job.name} cannot get more passes now`, {
    hint: 'stop the whole job first (`paddlet stop`), then start the master with the new training.passes, then the other processes',
  });
}

const continuedText = ({ key, value }: KeyValue): string =>
  JSON.stringify(continued(parseStoreValue(evaluationStateSchema, key, value)));

function transactionOf(
  keys: Keys,
  { job }: JobRecord,
  { number, state, result, evaluation }: Before,
  passes: number,
): { if: Compare[]; then: Op[] } {
  const unchanged: Compare[] = [
    { key: keys.passesDesired, modRevision: number.modRevision },
    { key: keys.tasksState, modRevision: state.modRevision },
    { key: keys.result, modRevision: result?.modRevision ?? 0n },
    { key: keys.evaluation, modRevision: evaluation?.modRevision ?? 0n },
  ];
  // Two places are the fence's. Those beyond them are ended by their watch of the number.
  for (let index = 0; index < job.cluster.pservers && unchanged.length < LIMITS.storeTxnOps - 2; index++) {
    unchanged.push({ key: keys.ps(index), createRevision: 0n });
  }
  const { phase, pass } = parseStoreValue(stateSchema, state.key, state.value);
  const next: QueueState = { phase: 'train', pass: pass + 1 };
  return {
    if: unchanged,
    then: [
      { put: keys.passesDesired, value: String(passes) },
      { delete: keys.result },
      // The commands after the last pass run after the new last one, too.
      { deletePrefix: keys.hooksPrefix('after') },
      ...(evaluation === undefined ? [] : [{ put: evaluation.key, value: continuedText(evaluation) }]),
      // The master of a job that is evaluated while it trains opens the pass when what has halted it is done.
      ...(phase === 'ended' && job.evaluation === undefined
        ? [{ put: keys.tasksState, value: JSON.stringify(next) }]
        : []),
    ],
  };
}
