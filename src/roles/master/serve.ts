/** What the master answers: checks who asks and of which job, then hands the request on by subject. */
import { PaddletError } from '../../base/errors.ts';
import { asSuspended } from '../../cluster/as-suspended.ts';
import type { ReplyHeader, RequestHeader } from '../../protocol/messages/all-messages.ts';
import type { Outgoing, Received, RequestHandler, Session } from '../../protocol/messages/channel.ts';
import { answerLanes } from './rounds/serve.ts';
import type { MasterState } from './state.ts';
import { answerTasks, type TaskRequest } from './tasks/serve.ts';

type Reply = Outgoing<ReplyHeader>;

/** `state()` is undefined until this master has the lock and has loaded the queue. */
export function createHandler(
  state: () => MasterState | undefined,
  info: () => Record<string, unknown>,
): RequestHandler {
  return async (request, session) => {
    const { header } = request;
    if (header.type === 'info') return { header: { type: 'info', info: info() } };
    const now = state();
    if (now === undefined) throw new PaddletError('NotReady', 'this master does not have the lock');
    if (header.job !== now.record.id) throw new PaddletError('WrongJob', 'this master directs another job');
    if (header.batchPlanId !== now.record.batchPlanId)
      throw new PaddletError('WrongBatchPlan', 'the batch plan of the request differs from the batch plan of the job');
    checkHeld(now);
    const reply = await answer(now, request, session).catch(asSuspended);
    // It may have waited long, as for a task: another master may have the lock by now.
    checkHeld(now);
    return reply;
  };
}

function checkHeld({ isHeld }: MasterState): void {
  if (!isHeld()) throw new PaddletError('Suspended', 'this master is cut off from the store');
}

async function answer(state: MasterState, request: Received<RequestHeader>, session: Session): Promise<Reply> {
  const { header } = request;
  switch (header.type) {
    case 'getTasks':
    case 'finishTasks':
    case 'failTask':
    case 'returnTask':
    case 'finishEvaluation':
    case 'progress':
      return answerTasks(state, request as Received<TaskRequest>, session);
    case 'requestSaveModel': {
      // One without a registration could not be seen to die.
      const isLive = state.trainers.addresses.has(header.trainer);
      const chosen = isLive ? await state.saves?.request(header) : undefined;
      return { header: { type: 'requestSaveModel', ...(chosen === undefined ? {} : { chosen }) } };
    }
    case 'savedModel': {
      await state.saves?.ended(header);
      return { header: { type: 'savedModel' } };
    }
    case 'getLanes':
    case 'getPlan':
    case 'getChunks':
    case 'failLane':
    case 'returnLanes':
    case 'roundStuck':
      return answerLanes(state, header, session);
    case 'checkpoint':
      if (state.training.mode === 'sync') return answerLanes(state, header, session);
      throw wrongRole(header.type);
    default:
      throw wrongRole(header.type);
  }
}

const wrongRole = (type: string): PaddletError =>
  new PaddletError('WrongRole', `a master does not handle '${type}' requests`);
