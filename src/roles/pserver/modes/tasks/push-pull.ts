/**
 * Async mode: pulls and pushes. The pserver answers a pull, and applies a push, in one synchronous step, so no pull
 * sees half an update.
 *
 * Known weakness: where units have copies, each unit applies an update when it commits it. So a pull may see the update
 * in only some units.
 */
import { PaddletError } from '../../../../base/errors.ts';
import { failPoint } from '../../../../base/fail-points.ts';
import type { Session } from '../../../../protocol/messages/channel.ts';
import { answerAfter, answerWhenReady, checkStamp } from '../../requests/checks.ts';
import { checkCounts } from '../../requests/counts.ts';
import { gradientParts, pullOf, readValues, segmentBytes } from '../../requests/request-parts.ts';
import type { Header, Reply, Request } from '../../requests/requests.ts';
import type { Serving } from '../../serving.ts';
import { checkTask } from '../../update/codec.ts';
import type { PushUpdate } from '../../update/update.ts';
import { inTurn, type JudgedUpdate, placeUpdate } from './place-updates.ts';

/** Under a staleness bound, a pull may have to wait for trainers that compute from older values. */
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
  if (serving.rounds !== undefined)
    throw new PaddletError('BadMessage', 'this job is in sync mode: send pushLane instead of push');
  const { replicas } = serving;
  if (replicas !== undefined) return pushToCopies(serving, replicas, request, session);
  const ready = (): Promise<void> | undefined => serving.moves?.wait('update') ?? serving.beforeUpdate();
  return answerWhenReady(serving, ready, () => answerPush(serving, request, session));
}

function answerPush(serving: Serving, request: Request<'push'>, session: Session): Reply | Promise<Reply> {
  const { header } = request;
  const { shards, staleness } = serving;
  const wanted = pullOf(serving.job.spec, request);
  const verdict = judgePush(serving, header);
  if (verdict === 'duplicate') return duplicate(serving, session, wanted);
  const rateScale = serving.rateShare() * staleness.judge(shards, header.used, header.push);
  const applying = verdict.shards ?? shards.numbers;
  shards.apply(updateOf(request, applying, rateScale));
  failPoint('push.applied');
  shards.raiseVersion();
  // Read the segments again: applying the update may have moved the memory that contains them.
  const forwarded = serving.moves?.applied(() => updateOf(request, applying, rateScale));
  return answerAfter(serving, forwarded, counted(serving, request, session, wanted));
}

type WantedPull = ReturnType<typeof pullOf>;

interface Wanted {
  /** Shards that lack the push; undefined: all shards that this pserver leads. */
  readonly shards: readonly number[] | undefined;
}

/** Throws the error with which the push is refused. */
function judgePush(serving: Serving, header: Header<'push'>): 'duplicate' | Wanted {
  const { shards } = serving;
  checkTask(serving.job, header.pass, header.task);
  checkStamp(shards, header.placement);
  failPoint('push.received');
  checkCounts({ ...serving, plan: serving.job.plan, ledgers: shards.ledgers }, header);
  const verdict = shards.ledgers.judge(header);
  if (verdict.outcome === 'early') {
    throw new PaddletError(
      'PushOutOfOrder',
      `push ${header.push} of task ${header.task} in pass ${header.pass}: expected push ${verdict.want} next`,
      { details: { want: verdict.want } },
    );
  }
  if (verdict.outcome === 'duplicate') return 'duplicate';
  if (serving.isFrozen()) throw new PaddletError('Draining', 'this pserver is draining and accepts no more pushes');
  return verdict;
}

function duplicate(serving: Serving, session: Session, wanted: WantedPull): Reply {
  serving.metrics.pushed('duplicate', 0);
  serving.staleness.pushed(session);
  return acknowledged(serving, 'duplicate', wanted);
}

/** Makes the answer to a push, including the values that the request wants, read after the push. */
function acknowledged(serving: Serving, outcome: 'applied' | 'duplicate', wanted: WantedPull): Reply {
  const header = { type: 'push' as const, outcome, recovery: serving.recovery() };
  if (wanted === undefined) return { header };
  const segments = serving.metrics.times.during('pull', () => wanted.read(serving.shards.parameters));
  serving.metrics.pulled(segments.reduce((bytes, segment) => bytes + segment.byteLength, 0));
  return { header: { ...header, version: serving.staleness.version() }, segments };
}

/** Counts the push as applied. Returns a function that makes the answer. */
function counted(serving: Serving, request: Request<'push'>, session: Session, wanted: WantedPull): () => Reply {
  serving.onApplied();
  serving.staleness.pushed(session);
  failPoint('push.advanced');
  serving.metrics.pushed('applied', segmentBytes(request));
  return () => acknowledged(serving, 'applied', wanted);
}

// ---- where units have copies

function pushToCopies(
  serving: Serving,
  replicas: NonNullable<Serving['replicas']>,
  request: Request<'push'>,
  session: Session,
): Reply | Promise<Reply> {
  const { header } = request;
  const wanted = pullOf(serving.job.spec, request);
  const turn = replicas.placing.turns.of([header]);
  const ready = (): Promise<void> | undefined => turn.wait() ?? replicas.wait('update') ?? serving.beforeUpdate();
  const place = (): Reply | Promise<Reply> => {
    const verdict = judgePush(serving, header);
    if (verdict === 'duplicate') return duplicate(serving, session, wanted);
    const judged = judgedPush(serving, replicas, request, verdict);
    turn.take();
    const answered = placeUpdate(serving, replicas, judged, {
      again: () => answerWhenReady(serving, ready, place),
      answer: () => counted(serving, request, session, wanted)(),
    });
    // The turn keeps the pushes of this task in order. While the copies stage this push, pushes of other tasks can be
    // placed.
    request.letPass?.();
    return answered;
  };
  return inTurn(turn, () => answerWhenReady(serving, ready, place));
}

/** Checks the gradients now, because a committed push can no longer be refused. */
function judgedPush(
  serving: Serving,
  { placing }: NonNullable<Serving['replicas']>,
  request: Request<'push'>,
  { shards: wanting }: Wanted,
): JudgedUpdate {
  const { header } = request;
  const { shards, staleness } = serving;
  shards.check(gradientParts(request), wanting);
  const applying = wanting ?? shards.numbers;
  const { stamp } = shards;
  return {
    make: () => updateOf(request, applying, 1),
    units: shards.heads.units(),
    isCurrent: () => {
      if (shards.stamp !== stamp || serving.isFrozen() || shards.heads.areResting) return false;
      return shards.whyUnwanted(header, wanting) === undefined;
    },
    decide: () => {
      // Pushes placed before this one are applied before it, so they count in its staleness. The schedule does not
      // count their records yet.
      const rateScale = serving.rateShare() * staleness.judge(shards, header.used, header.push, placing.counted);
      return updateOf(request, applying, rateScale);
    },
  };
}

/** The arrays of the update are views of the request's segments. */
function updateOf(request: Request<'push'>, shards: readonly number[], rateScale: number): PushUpdate {
  const { pass, task, push: number, last, good } = request.header;
  const push = { pass, task, push: number, last, good };
  return { type: 'push', push, shards, rateScale, ...gradientParts(request) };
}
