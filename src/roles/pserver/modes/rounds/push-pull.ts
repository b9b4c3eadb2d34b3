/** Sync mode: checks pulls and lanes before the rounds answer them. */
import { PaddletError } from '../../../../base/errors.ts';
import type { Session } from '../../../../protocol/messages/channel.ts';
import { answerAfter, checkHeld, checkStamp } from '../../requests/checks.ts';
import { segmentBytes } from '../../requests/request-parts.ts';
import type { Reply, Request } from '../../requests/requests.ts';
import type { Serving } from '../../serving.ts';
import { checkTask } from '../../update/codec.ts';
import type { Rounds } from './rounds.ts';

/** Throws `BadMessage` in async mode. */
export function roundsOf({ rounds }: Serving): Rounds {
  if (rounds === undefined)
    throw new PaddletError('BadMessage', 'this job is in async mode, which does not have rounds');
  return rounds;
}

export function pullVersion(serving: Serving, request: Request<'pullVersion'>, session: Session): Promise<Reply> {
  checkStamp(serving.shards, request.header.placement);
  return roundsOf(serving).pull(request, session);
}

export function pushLane(serving: Serving, request: Request<'pushLane'>): Reply | Promise<Reply> {
  const wait = serving.beforeUpdate() ?? roundsOf(serving).untilUpdatable();
  if (wait === undefined) return answerPushLane(serving, request);
  // Check everything again, because another reason to wait may have come up during the wait.
  return wait.then(() => {
    checkHeld(serving);
    return pushLane(serving, request);
  });
}

function answerPushLane(serving: Serving, request: Request<'pushLane'>): Reply | Promise<Reply> {
  const { batch, placement } = request.header;
  if (batch !== undefined) checkTask(serving.job, batch.pass, batch.task);
  checkStamp(serving.shards, placement);
  const { reply, forwarded } = roundsOf(serving).pushLane(request);
  const isTaken = reply.header.type === 'pushLane' && reply.header.outcome === 'taken';
  serving.metrics.pushed(isTaken ? 'applied' : 'duplicate', isTaken ? segmentBytes(request) : 0);
  return answerAfter(serving, forwarded, () => reply);
}
