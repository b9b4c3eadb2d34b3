/**
 * Checks switched off from outside: each changes requests on their way so that the check finds nothing. A simulation
 * that does not notice would prove nothing.
 */
import { isPaddletError } from '../../src/base/errors.ts';
import { parseRoleInfo, type RoleInfo } from '../../src/cluster/info.ts';
import type { AttemptRef } from '../../src/core/tasks/address.ts';
import type { ReplyHeader, RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { Outgoing, Received, RequestHandler, Session } from '../../src/protocol/messages/channel.ts';
import type { SimulatedProcess } from './process.ts';

export type Mutation = (server: SimulatedProcess, handler: RequestHandler) => RequestHandler;

type Ask = (header: RequestHeader) => Promise<ReplyHeader>;

/** What the same role answers to a request of ours. */
const asking =
  (handler: RequestHandler, session: Session): Ask =>
  async (header) => {
    const none = (): never => {
      throw new Error('it has no segments');
    };
    return (await handler({ header, segmentCount: 0, segment: none, free: () => {} }, session)).header;
  };

async function askInfo(ask: Ask): Promise<RoleInfo> {
  const reply = await ask({ type: 'info' });
  if (reply.type !== 'info') throw new Error('every role says what it does');
  return parseRoleInfo(reply.info);
}

/** Handles a request as if it had another header. */
function changing(change: (header: RequestHeader, ask: Ask) => Promise<RequestHeader>): Mutation {
  return (_server, handler) => async (request, session) => {
    const header = await change(request.header, asking(handler, session));
    return handler(withHeader(request, header), session);
  };
}

const withHeader = (request: Received<RequestHeader>, header: RequestHeader): Received<RequestHeader> => ({
  header,
  segmentCount: request.segmentCount,
  segment: (index) => request.segment(index),
  free: () => request.free(),
});

/** Every push counts as the one that is wanted. */
export const withoutLedger = changing(async (header, ask) => {
  if (header.type !== 'push') return header;
  const { job, batchPlanId, pass, task } = header;
  const position = await ask({ type: 'position', job, batchPlanId, tasks: [{ pass, task }] });
  const next = position.type === 'position' ? position.next[0]! : 0;
  return next < 0 ? header : { ...header, push: next };
});

/** Every request names the placement that the pserver has. */
export const withoutPlacement = changing(async (header, ask) => {
  if (header.type !== 'push' && header.type !== 'pull') return header;
  const info = await askInfo(ask);
  return info.role === 'pserver' && info.state === 'working' ? { ...header, placement: info.placement } : header;
});

const isSameTask = (a: AttemptRef, b: AttemptRef): boolean =>
  a.queue === b.queue && a.pass === b.pass && a.task === b.task;

/** A trainer that reports a task as finished has a live attempt of it, if any trainer has. */
export const withoutAttempts = changing(async (header, ask) => {
  if (header.type !== 'finishTask') return header;
  const info = await askInfo(ask);
  if (info.role !== 'master' || info.state !== 'working' || info.mode !== 'async') return header;
  const live = info.attempts.filter((one) => isSameTask(one, header));
  const isLive = live.some(({ attempt, trainer }) => attempt === header.attempt && trainer === header.trainer);
  const [other] = live;
  return isLive || other === undefined ? header : { ...header, attempt: other.attempt, trainer: other.trainer };
});

const standing = async (ask: Ask, { job, batchPlanId }: { job: string; batchPlanId: string }) => {
  const reply = await ask({ type: 'rounds', job, batchPlanId, maxWaitMs: 0 });
  if (reply.type !== 'rounds') throw new Error('the pserver says where it stands');
  return reply;
};

/** Every lane counts as one of the round in work, if that wants it. */
export const withoutRounds = changing(async (header, ask) => {
  if (header.type !== 'pushLane') return header;
  const { version, missing } = await standing(ask, header);
  return missing.includes(header.lane) ? { ...header, round: version } : header;
});

/** Every pull gets the present version. */
export const withoutVersions = changing(async (header, ask) => {
  if (header.type !== 'pullVersion') return header;
  const { version } = await standing(ask, header);
  return { ...header, version: Math.min(version, header.version) };
});

/** Highest recovery number that a schedule can come to. */
const RECOVERIES = 100;

/** The end of a task counts whatever was lost since. */
export const withoutRecovery: Mutation =
  (_server, handler) =>
  async (request, session): Promise<Outgoing<ReplyHeader>> => {
    const { header } = request;
    if (header.type !== 'finishTask') return handler(request, session);
    for (let recovery = header.recovery; ; recovery++) {
      try {
        return await handler(withHeader(request, { ...header, recovery }), session);
      } catch (error) {
        if (!isPaddletError(error, 'StaleRecovery') || recovery > RECOVERIES) throw error;
      }
    }
  };
