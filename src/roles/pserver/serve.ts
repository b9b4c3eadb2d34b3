/** What a pserver answers. Each request is handled in one go, so no pull sees half an update. */

import { unreachable } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { CheckpointFile } from '../../checkpoint/file/capture.ts';
import { asSuspended } from '../../cluster/as-suspended.ts';
import { type PlacementStamp, sameStamp } from '../../core/placement.ts';
import type { ShardLedgers } from '../../core/shard/ledgers.ts';
import type { Outgoing, Received, RequestHandler, Session } from '../../protocol/messages/channel.ts';
import type { ReplyHeader, RequestHeader } from '../../protocol/messages/messages.ts';
import { type Parameters, SHARD_ACTION } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import { checkHeld } from './check-held.ts';
import type { PserverMetrics } from './metrics.ts';
import { gradientParts, readValues, segmentBytes } from './request-parts.ts';
import type { Rounds } from './rounds/rounds.ts';
import type { Scanner } from './scan.ts';
import { closeTasks } from './tasks/close-tasks.ts';
import type { Staleness } from './tasks/staleness.ts';

type Request<T extends RequestHeader['type']> = Received<Extract<RequestHeader, { type: T }>>;
type Reply = Outgoing<ReplyHeader>;

export interface Serving {
  readonly jobId: string;
  readonly batchPlanId: string;
  readonly spec: ParameterSpec;
  readonly shards: number;
  readonly tasks: number;
  readonly passes: number;
  readonly parameters: Parameters;
  readonly ledger: ShardLedgers;
  /** The shards held here. */
  readonly held: readonly number[];
  /** The highest recovery number seen. */
  readonly recovery: () => number;
  readonly stamp: PlacementStamp;
  readonly metrics: PserverMetrics;
  readonly staleness: Staleness;
  /** False while the lease is not certainly held. */
  readonly isHeld: () => boolean;
  /** True from the moment that the last checkpoint of this process is being taken: pushes are refused. */
  readonly isFrozen: () => boolean;
  /** Undefined when a save is running already. */
  readonly checkpoint: (final: boolean) => Promise<CheckpointFile | undefined>;
  readonly scanner: Scanner;
  /**
   * Before the first push is applied: notes in the store that the file loaded is no longer the last state. Undefined
   * once that is done.
   */
  readonly open: () => Promise<void> | undefined;
  /** In sync mode. */
  readonly rounds: Rounds | undefined;
  /** A push was applied to these shards; undefined means all. */
  readonly applied: (shards: readonly number[] | undefined) => void;
}

/** `serving()` is undefined until the shards are taken and loaded. */
export function createHandler(serving: () => Serving | undefined, info: () => Record<string, unknown>): RequestHandler {
  return (request, session) => {
    const { header } = request;
    if (header.type === 'info') return { header: { type: 'info', info: info() } };
    const now = serving();
    if (now === undefined) throw new PaddletError('NotReady', 'this pserver is still loading its shards');
    checkJob(now, header);
    checkHeld(now);
    return answer(now, request, session);
  };
}

function checkJob(serving: Serving, header: Exclude<RequestHeader, { type: 'info' }>): void {
  if (header.job !== serving.jobId) {
    throw new PaddletError('WrongJob', `this pserver serves job ${serving.jobId}, not ${header.job}`);
  }
  if (header.batchPlanId !== serving.batchPlanId) {
    throw new PaddletError(
      'WrongBatchPlan',
      `the batch plan is another one: ${header.batchPlanId}, here ${serving.batchPlanId}`,
      {
        hint: 'batchSize, pushEvery, recordsPerTask, seed and the data must be those the job began with',
      },
    );
  }
}

function answer(serving: Serving, request: Received<RequestHeader>, session: Session): Reply | Promise<Reply> {
  const { header } = request;
  switch (header.type) {
    case 'pull':
      return enterAndPull(serving, request as Request<'pull'>, session);
    case 'push': {
      if (serving.rounds !== undefined) throw new PaddletError('BadMessage', 'this job is in mode sync: push lanes');
      const opening = serving.open();
      if (opening === undefined) return push(serving, request as Request<'push'>, session);
      return opening.then(() => {
        checkHeld(serving);
        return push(serving, request as Request<'push'>, session);
      });
    }
    case 'pullVersion':
      checkStamp(serving, header.placement);
      return roundsOf(serving).pull(request as Request<'pullVersion'>, session);
    case 'pushLane': {
      const opening = serving.open();
      if (opening === undefined) return pushLane(serving, request as Request<'pushLane'>);
      return opening.then(() => {
        checkHeld(serving);
        return pushLane(serving, request as Request<'pushLane'>);
      });
    }
    case 'rounds':
      return roundsOf(serving).standing(request as Request<'rounds'>, session);
    case 'cut':
      return roundsOf(serving).cut(request as Request<'cut'>, session);
    case 'position': {
      for (const { pass, task } of header.tasks) checkTask(serving, pass, task);
      const next = header.tasks.map(({ pass, task }) => serving.ledger.position(pass, task));
      return { header: { type: 'position', next, recovery: serving.recovery() } };
    }
    case 'closed': {
      checkTask(serving, header.pass, 0);
      const ledgers = serving.ledger.closedTasks(header.pass);
      const watermark = serving.ledger.watermark();
      return { header: { type: 'closed', recovery: serving.recovery(), watermark, ledgers } };
    }
    case 'closeTasks':
      for (const { pass, task } of header.tasks) checkTask(serving, pass, task);
      return closeTasks(serving, header.tasks);
    case 'checkpoint':
      return checkpoint(serving, header);
    case 'account': {
      const account = serving.ledger.account();
      const passes = account.passes.map((pass) => ({ ...pass }));
      const duplicatePushes = serving.metrics.duplicatePushes();
      return {
        header: {
          type: 'account',
          applied: account.applied,
          discarded: account.discarded,
          duplicatePushes,
          staleness: serving.staleness.counts(),
          passes,
          ...roundsAccount(serving),
        },
      };
    }
    case 'scanRows':
      return serving.scanner.rows(header);
    case 'scanBlock':
      return serving.scanner.block(header);
    case 'info':
    case 'getLanes':
    case 'getPlan':
    case 'getChunks':
    case 'failLane':
    case 'returnLanes':
    case 'roundStuck':
    case 'getTask':
    case 'finishTask':
    case 'failTask':
    case 'returnTask':
    case 'finishEvaluation':
    case 'requestSaveModel':
    case 'savedModel':
    case 'progress':
      throw new PaddletError('WrongRole', `a pserver does not answer '${header.type}': that is the master's`);
    default:
      return unreachable(header);
  }
}

async function checkpoint(
  serving: Serving,
  { final, recovery }: Extract<RequestHeader, { type: 'checkpoint' }>,
): Promise<Reply> {
  if (final && recovery !== undefined && recovery < serving.recovery()) {
    throw new PaddletError('StaleRecovery', `all was done under recovery ${recovery}, it is ${serving.recovery()} now`);
  }
  const file = await serving.checkpoint(final).catch(asSuspended);
  if (file === undefined) return { header: { type: 'checkpoint', outcome: 'running' } };
  const { uuid, md5, bytes } = file;
  return { header: { type: 'checkpoint', outcome: 'saved', saved: { uuid, md5, bytes } } };
}

function roundsOf({ rounds }: Serving): Rounds {
  if (rounds === undefined) throw new PaddletError('BadMessage', 'this job is in mode async: there are no rounds');
  return rounds;
}

function roundsAccount({ rounds }: Serving) {
  if (rounds === undefined) return {};
  return { rounds: { ...rounds.observed(), metrics: rounds.metrics().map((one) => ({ ...one })) } };
}

function pushLane(serving: Serving, request: Request<'pushLane'>): Reply {
  const { batch, placement } = request.header;
  if (batch !== undefined) checkTask(serving, batch.pass, batch.task);
  checkStamp(serving, placement);
  const reply = roundsOf(serving).pushLane(request);
  const isTaken = reply.header.type === 'pushLane' && reply.header.outcome === 'taken';
  serving.metrics.pushed(isTaken ? 'applied' : 'duplicate', isTaken ? segmentBytes(request) : 0);
  return reply;
}

function checkTask(serving: Serving, pass: number, task: number): void {
  if (pass >= serving.passes || task >= serving.tasks) {
    throw new PaddletError(
      'BadMessage',
      `pass ${pass}, task ${task}: the job has ${serving.passes} passes of ${serving.tasks} tasks`,
    );
  }
}

function checkStamp(serving: Serving, stamp: PlacementStamp): void {
  if (sameStamp(stamp, serving.stamp)) return;
  throw new PaddletError(
    'StalePlacement',
    `the placement is ${serving.stamp.revision} with ${serving.stamp.shards} shards here, not ${stamp.revision} with ${stamp.shards}`,
  );
}

/** Under a staleness bound a pull may have to wait for those who compute from older values. */
function enterAndPull(serving: Serving, request: Request<'pull'>, session: Session): Reply | Promise<Reply> {
  checkStamp(serving, request.header.placement);
  const entering = serving.staleness.enter(request.header.hold, session);
  if (entering === undefined) return pull(serving, request);
  return entering.then(() => {
    checkHeld(serving);
    return pull(serving, request);
  });
}

function pull(serving: Serving, request: Request<'pull'>): Reply {
  const { header } = request;
  checkStamp(serving, header.placement);
  const segments = readValues(serving.spec, serving.parameters, request);
  serving.metrics.pulled(segments.reduce((bytes, segment) => bytes + segment.byteLength, 0));
  return { header: { type: 'pull', version: serving.staleness.version() }, segments };
}

function push(serving: Serving, request: Request<'push'>, session: Session): Reply {
  const { header } = request;
  checkTask(serving, header.pass, header.task);
  checkStamp(serving, header.placement);
  failPoint('push.received');
  const verdict = serving.ledger.judge(header);
  if (verdict.outcome === 'early') {
    throw new PaddletError(
      'PushOutOfOrder',
      `push ${header.push} of task ${header.task} in pass ${header.pass}: push ${verdict.want} is wanted next`,
      { details: { want: verdict.want } },
    );
  }
  if (verdict.outcome === 'duplicate') {
    serving.metrics.pushed('duplicate', 0);
    serving.staleness.pushed(session);
    return { header: { type: 'push', outcome: 'duplicate', recovery: serving.recovery() } };
  }
  if (serving.isFrozen()) throw new PaddletError('Draining', 'this pserver is leaving and takes no more pushes');
  const rateScale = serving.staleness.judge(serving.stamp.revision, header.used, header.push);
  const { sparse, dense } = gradientParts(request);
  serving.parameters.push(sparse, dense, actionsOf(serving, verdict.shards), rateScale);
  failPoint('push.applied');
  serving.ledger.advance(header);
  serving.applied(verdict.shards);
  serving.staleness.pushed(session);
  failPoint('push.advanced');
  serving.metrics.pushed('applied', segmentBytes(request));
  return { header: { type: 'push', outcome: 'applied', recovery: serving.recovery() } };
}

/** What a push does to each shard: nothing to those that have it already; shards not held here refuse it. */
function actionsOf(serving: Serving, applying: readonly number[] | undefined): Uint8Array {
  const actions = new Uint8Array(serving.shards).fill(SHARD_ACTION.absent);
  if (applying !== undefined) for (const shard of serving.held) actions[shard] = SHARD_ACTION.skip;
  for (const shard of applying ?? serving.held) actions[shard] = SHARD_ACTION.apply;
  return actions;
}
