/** What the master answers to trainers. Evaluation tasks travel as tasks of the pass after the last. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Clock } from '../../base/seams.ts';
import { asSuspended } from '../../cluster/as-suspended.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { Signal } from '../../cluster/waiting.ts';
import type { AttemptRef } from '../../core/tasks/events.ts';
import { noSums } from '../../core/tasks/state.ts';
import type { Outgoing, Received, RequestHandler, Session } from '../../protocol/messages/channel.ts';
import type { DealtTask, ReplyHeader, RequestHeader } from '../../protocol/messages/messages.ts';
import type { Dataset } from './dataset.ts';
import type { EvaluationResults } from './evaluation.ts';
import { answerLanes, wireParts } from './rounds/serve.ts';
import type { LaneTraining } from './rounds/training.ts';
import type { Saves } from './saves.ts';
import type { PassTask, RepairBatch } from './tasks/repairs.ts';
import type { TaskService } from './tasks/service.ts';
import type { TaskTraining } from './tasks/training.ts';
import type { LiveTrainers } from './trainers.ts';

export interface MasterState {
  readonly record: JobRecord;
  readonly trainers: LiveTrainers;
  readonly training: TaskTraining | LaneTraining;
  /** Of jobs whose model is written after each pass. */
  readonly saves: Saves | undefined;
  /** There once training has ended, when the job has a test file. */
  evaluate: { readonly desk: TaskService; readonly dataset: Dataset; readonly results: EvaluationResults } | undefined;
  /** What a trainer that finds nothing to do is told: that it may go, or that more may come. */
  isOver: boolean;
  /** Notified when any of this changes. */
  readonly changed: Signal;
  readonly isHeld: () => boolean;
  readonly clock: Clock;
}

type RequestOf<T extends RequestHeader['type']> = Received<Extract<RequestHeader, { type: T }>>;
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
    if (header.job !== now.record.id) throw new PaddletError('WrongJob', `the job here is ${now.record.id}`);
    if (header.batchPlanId !== now.record.batchPlanId)
      throw new PaddletError('WrongBatchPlan', `the batch plan id here is ${now.record.batchPlanId}`);
    if (!now.isHeld()) throw new PaddletError('Suspended', 'this master is cut off from the store');
    return answer(now, request, session).catch(asSuspended);
  };
}

async function answer(state: MasterState, request: Received<RequestHeader>, session: Session): Promise<Reply> {
  const { header } = request;
  switch (header.type) {
    case 'getTask':
      return withSaveHint(state, await getTask(state, request as RequestOf<'getTask'>, session));
    case 'finishTask': {
      await finishTask(state, header);
      return { header: { type: 'finishTask' } };
    }
    case 'failTask': {
      const { code, error, data, read } = header;
      const { desk, ref } = deskOf(state, header);
      await desk.fail(ref, { code, error, data, read });
      return { header: { type: 'failTask' } };
    }
    case 'returnTask': {
      const { desk, ref } = deskOf(state, header);
      await desk.giveBack(ref, header.read);
      return { header: { type: 'returnTask' } };
    }
    case 'finishEvaluation':
      return finishEvaluation(state, request as RequestOf<'finishEvaluation'>);
    case 'requestSaveModel': {
      const chosen = await state.saves?.request(header);
      return { header: { type: 'requestSaveModel', ...(chosen === undefined ? {} : { chosen }) } };
    }
    case 'savedModel': {
      await state.saves?.ended(header);
      return { header: { type: 'savedModel' } };
    }
    case 'progress':
      return { header: { type: 'progress', live: progress(state, header) } };
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

const wrongRole = (type: string): PaddletError => new PaddletError('WrongRole', `a master does not answer '${type}'`);

const isEvaluation = (state: MasterState, pass: number): boolean => pass === state.record.job.training.passes;

/** Another master, or a pserver that was restored, ended the evaluation that a trainer still works for. */
const evaluatedAnew = (): PaddletError =>
  new PaddletError('AttemptNotLive', 'the evaluation that this task was dealt for is over; it is done anew');

/** The desk, with the reference as its queue knows it. */
function deskOf(state: MasterState, ref: AttemptRef): { desk: TaskService; ref: AttemptRef } {
  if (!isEvaluation(state, ref.pass)) return trainingDeskOf(tasksOf(state), ref);
  if (state.evaluate === undefined) throw evaluatedAnew();
  return { desk: state.evaluate.desk, ref: evaluationRef(ref) };
}

function tasksOf({ training }: MasterState): TaskTraining {
  if (training.mode === 'async') return training;
  throw new PaddletError('BadMessage', 'this job is in mode sync: its passes are worked in lanes');
}

function trainingDeskOf({ desk, repairs }: TaskTraining, ref: AttemptRef): { desk: TaskService; ref: AttemptRef } {
  const round = repairs.round();
  const item = round?.itemOf(ref);
  if (round === undefined || item === undefined) return { desk, ref: refOf(ref) };
  return { desk: round.desk, ref: { ...refOf(ref), pass: 0, task: item } };
}

/** Done means closed in every shard as it is now: what was acknowledged before a shard was restored does not count. */
async function finishTask(state: MasterState, header: Extract<RequestHeader, { type: 'finishTask' }>): Promise<void> {
  if (isEvaluation(state, header.pass)) {
    throw new PaddletError('BadMessage', 'an evaluation task ends with finishEvaluation');
  }
  const training = tasksOf(state);
  if (header.recovery < training.recovery()) {
    throw new PaddletError(
      'StaleRecovery',
      `acknowledged under recovery ${header.recovery}, it is ${training.recovery()} now`,
    );
  }
  const { desk, ref } = trainingDeskOf(training, header);
  const { read, good, bad, duplicate, metrics } = header;
  failPoint('finish.received');
  await desk.finish(ref, { read, good, bad, duplicate, metrics });
  failPoint('finish.recorded');
}

/** Each queue numbers its own passes; the evaluation's has one, number 0. */
const refOf = ({ trainer, pass, task, attempt }: AttemptRef): AttemptRef => ({ trainer, pass, task, attempt });
const evaluationRef = (ref: AttemptRef): AttemptRef => ({ ...refOf(ref), pass: 0 });

/** Repairs first, then training, then evaluation. */
async function getTask(state: MasterState, request: RequestOf<'getTask'>, session: Session): Promise<Reply> {
  const { trainer, maxWaitMs } = request.header;
  const held = request.header.held.map((ref) => ({ trainer, ...ref }));
  const closed = new AbortController();
  const cancel = session.onClosed(() => closed.abort());
  const asker: Asker = { trainer, held, maxWaitMs, closed: closed.signal, before: standingOf(state) };
  try {
    const { training } = state;
    return (
      (training.mode === 'async' ? await nextTraining(state, training, asker) : undefined) ??
      (await nextEvaluation(state, asker))
    );
  } finally {
    cancel();
  }
}

interface Asker {
  readonly trainer: string;
  readonly held: readonly AttemptRef[];
  readonly maxWaitMs: number;
  readonly closed: AbortSignal;
  /** How it was when it asked: what has changed since, also while its answer was being made, it is to hear of at once. */
  readonly before: Standing;
}

/** What there is to do besides the tasks of the passes. */
type Standing = Pick<MasterState, 'evaluate' | 'isOver'> & { readonly round: RepairBatch | undefined };

const standingOf = ({ evaluate, isOver, training }: MasterState): Standing => {
  return { evaluate, isOver, round: training.mode === 'async' ? training.repairs.round() : undefined };
};

/** Undefined when the passes are over. */
async function nextTraining(state: MasterState, training: TaskTraining, asker: Asker): Promise<Reply | undefined> {
  const repair = await nextRepair(training, asker);
  if (repair !== undefined) return repair;
  const { trainer, held, maxWaitMs, closed } = asker;
  const { desk, dataset, repairs } = training;
  const ordinary = held.filter((ref) => !isEvaluation(state, ref.pass) && repairs.round()?.itemOf(ref) === undefined);
  const first = await desk.getTask(trainer, ordinary, maxWaitMs, closed);
  if (first === 'wait') return waitReply(state);
  return first === 'none' ? undefined : dealt('train', dataset, first.attempt, first.attempt);
}

async function nextRepair(
  { repairs, dataset }: TaskTraining,
  { trainer, held, closed }: Asker,
): Promise<Reply | undefined> {
  const round = repairs.round();
  if (round === undefined) return undefined;
  const mine = held.flatMap((ref) => {
    const item = round.itemOf(ref);
    return item === undefined ? [] : [{ ...ref, pass: 0, task: item }];
  });
  const answer = await round.desk.getTask(trainer, mine, 0, closed);
  if (answer === 'wait' || answer === 'none') return undefined;
  return dealt('train', dataset, answer.attempt, round.items[answer.attempt.task]!);
}

async function nextEvaluation(state: MasterState, asker: Asker): Promise<Reply> {
  const { trainer, held, maxWaitMs, closed } = asker;
  const { evaluate } = state;
  if (state.isOver) return { header: { type: 'getTask', state: 'finished' } };
  if (evaluate === undefined) {
    await changeOf(state, asker);
    return waitReply(state);
  }
  const evaluating = held.filter((ref) => isEvaluation(state, ref.pass)).map(evaluationRef);
  const answer = await evaluate.desk.getTask(trainer, evaluating, maxWaitMs, closed);
  if (answer === 'wait') return waitReply(state);
  if (answer === 'none') {
    await changeOf(state, asker);
    return waitReply(state);
  }
  const pass = state.record.job.training.passes;
  return dealt('evaluate', evaluate.dataset, answer.attempt, { pass, task: answer.attempt.task });
}

/** Whoever asks for work hears that a model is to be saved. */
function withSaveHint(state: MasterState, reply: Reply): Reply {
  const { header } = reply;
  if (header.type !== 'getTask' || state.saves?.isWanted() !== true) return reply;
  return { ...reply, header: { ...header, saveModel: true } };
}

/** Training or evaluation is over and something follows: another round of it, a model to save, or the end. */
async function changeOf(state: MasterState, { before, maxWaitMs, closed }: Asker): Promise<void> {
  const late = new AbortController();
  const cancel = state.clock.after(maxWaitMs, () => late.abort());
  const isOther = (): boolean => {
    const { evaluate, isOver, round } = standingOf(state);
    const isSame = evaluate === before.evaluate && isOver === before.isOver && round === before.round;
    return !isSame || state.saves?.isWanted() === true;
  };
  try {
    await state.changed.until(() => (isOther() ? true : undefined), AbortSignal.any([closed, late.signal]));
  } catch (error) {
    // Its asker asks again.
    if (!late.signal.aborted || !isPaddletError(error, 'Interrupted')) throw error;
  } finally {
    cancel();
  }
}

/** Why there is nothing to do, for people. */
export const waitReason = ({ training, evaluate }: MasterState): string =>
  training.waitReason() ?? (evaluate === undefined ? 'the job is being concluded' : 'the test file is being evaluated');

function waitReply(state: MasterState): Reply {
  return { header: { type: 'getTask', state: 'wait', reason: waitReason(state) } };
}

function dealt(kind: DealtTask['kind'], dataset: Dataset, { attempt }: AttemptRef, of: PassTask): Reply {
  const task: DealtTask = { kind, pass: of.pass, task: of.task, attempt, ...wireParts(dataset, of.task) };
  return { header: { type: 'getTask', state: 'task', task } };
}

async function finishEvaluation(state: MasterState, request: RequestOf<'finishEvaluation'>): Promise<Reply> {
  const { header } = request;
  if (!isEvaluation(state, header.pass)) {
    throw new PaddletError('BadMessage', 'finishEvaluation names a task that is not one of evaluation');
  }
  if (state.evaluate === undefined) throw evaluatedAnew();
  const { desk, results } = state.evaluate;
  const ref = evaluationRef(header);
  // Before the report is accepted, as that may end the evaluation; what is not live must not replace what is there.
  if (desk.queue.isLive(ref)) results.add(header.task, header.metrics, floats(request, 0), floats(request, 1));
  await desk.finish(ref, { ...noSums(), bad: header.bad, metrics: header.metrics });
  return { header: { type: 'finishEvaluation' } };
}

/** A copy: the landing is freed when the request is answered. */
function floats(request: RequestOf<'finishEvaluation'>, segment: number): Float32Array {
  if (request.segmentCount !== 2) throw new PaddletError('BadMessage', 'finishEvaluation has two segments');
  const bytes = request.segment(segment);
  if (bytes.byteLength % 4 !== 0) throw new PaddletError('BadMessage', `segment ${segment}: not a whole number of f32`);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

/** False when the attempt that the trainer executes is not live. */
function progress(state: MasterState, header: Extract<RequestHeader, { type: 'progress' }>): boolean {
  const { trainer, phase, executing, records, loss } = header;
  const evaluating = executing !== undefined && isEvaluation(state, executing.pass);
  state.trainers.heard(trainer, { phase, records, loss, executing });
  const working = evaluating ? undefined : executing;
  if (state.training.mode === 'async') tellProgress(state.training, { trainer, phase }, working);
  const inEvaluation = evaluating ? { ...executing, pass: 0 } : undefined;
  state.evaluate?.desk.tell({ type: 'progress', trainer, phase, executing: inEvaluation });
  // Lanes have no attempts: nobody's work on one is in vain.
  if (executing === undefined || (!evaluating && state.training.mode === 'sync')) return true;
  if (evaluating && state.evaluate === undefined) return false;
  const { desk, ref } = deskOf(state, { trainer, ...executing });
  return desk.queue.isLive(ref);
}

function tellProgress(
  { desk, repairs }: TaskTraining,
  from: Pick<Extract<RequestHeader, { type: 'progress' }>, 'trainer' | 'phase'>,
  executing: Extract<RequestHeader, { type: 'progress' }>['executing'],
): void {
  const round = repairs.round();
  const item = executing && round?.itemOf(executing);
  const repairing = item === undefined ? undefined : { ...executing!, pass: 0, task: item };
  round?.desk.tell({ type: 'progress', ...from, executing: repairing });
  desk.tell({ type: 'progress', ...from, executing: repairing === undefined ? executing : undefined });
}
