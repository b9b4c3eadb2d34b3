/** Async mode: pulls and pushes. Each is answered synchronously once it begins, so no pull sees half an update. */
import { PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Session } from '../../../protocol/messages/channel.ts';
import { answerAfter, answerWhenReady, checkStamp, checkTask } from '../checks.ts';
import { checkCounts } from '../counts.ts';
import { gradientParts, readValues, segmentBytes } from '../request-parts.ts';
import type { Reply, Request } from '../requests.ts';
import type { Serving } from '../serving.ts';
import type { ForwardedUpdate } from '../units/forwarded-update.ts';

/** Under a staleness bound a pull may have to wait for trainers that compute from older values. */
export function pull(serving: Serving, request: Request<'pull'>, session: Session): Reply | Promise<Reply> {
  const { placement, hold } = request.header;
  checkStamp(serving.shards, placement);
  const ready = (): Promise<void> | undefined => serving.moves?.wait('read');
  const answer = (): Reply => answerPull(serving, request);
  return answerAfter(serving, serving.staleness.enter(hold, session), () => answerWhenReady(serving, ready, answer));
}

function answerPull(serving: Serving, request: Request<'pull'>): Reply {
  checkStamp(serving.shards, request.header.placement);
  const segments = readValues(serving.job.spec, serving.shards.parameters, request);
  serving.metrics.pulled(segments.reduce((bytes, segment) => bytes + segment.byteLength, 0));
  return { header: { type: 'pull', version: serving.staleness.version() }, segments };
}

export function push(serving: Serving, request: Request<'push'>, session: Session): Reply | Promise<Reply> {
  if (serving.rounds !== undefined) throw new PaddletError('BadMessage', 'this job is in sync mode: push lanes');
  const ready = (): Promise<void> | undefined => serving.moves?.wait('update') ?? serving.beforeUpdate();
  return answerWhenReady(serving, ready, () => answerPush(serving, request, session));
}

function answerPush(serving: Serving, request: Request<'push'>, session: Session): Reply | Promise<Reply> {
  const { header } = request;
  const { shards, staleness, metrics } = serving;
  checkTask(serving.job, header.pass, header.task);
  checkStamp(shards, header.placement);
  failPoint('push.received');
  checkCounts({ ...serving, plan: serving.job.plan, ledgers: shards.ledgers }, header);
  const verdict = shards.ledgers.judge(header);
  if (verdict.outcome === 'early') {
    throw new PaddletError(
      'PushOutOfOrder',
      `push ${header.push} of task ${header.task} in pass ${header.pass}: push ${verdict.want} is wanted next`,
      { details: { want: verdict.want } },
    );
  }
  if (verdict.outcome === 'duplicate') {
    metrics.pushed('duplicate', 0);
    staleness.pushed(session);
    return { header: { type: 'push', outcome: 'duplicate', recovery: serving.recovery() } };
  }
  if (serving.isFrozen()) throw new PaddletError('Draining', 'this pserver is draining and accepts no more pushes');
  const rateScale = staleness.judge(shards, header.used, header.push);
  const { sparse, dense } = gradientParts(request);
  shards.parameters.push(sparse, dense, shards.actions(verdict.shards), rateScale);
  failPoint('push.applied');
  shards.ledgers.advance(header);
  shards.advance(verdict.shards);
  const forwarded = serving.moves?.applied(() => forwardedPush(serving, request, verdict.shards, rateScale));
  serving.onApplied();
  staleness.pushed(session);
  failPoint('push.advanced');
  metrics.pushed('applied', segmentBytes(request));
  return answerAfter(serving, forwarded, () => {
    return { header: { type: 'push', outcome: 'applied', recovery: serving.recovery() } };
  });
}

/** The segments once more: applying them may have moved the memory that they are in. */
function forwardedPush(
  { shards }: Serving,
  request: Request<'push'>,
  applied: readonly number[] | undefined,
  rateScale: number,
): ForwardedUpdate {
  const { pass, task, push: number, last, good } = request.header;
  const position = { pass, task, push: number, last, good };
  return { type: 'push', push: position, shards: applied ?? shards.numbers, rateScale, ...gradientParts(request) };
}
