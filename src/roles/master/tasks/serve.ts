/** What the master answers to trainers about tasks: those of the passes, of repairs and of the evaluation. */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { untilOrLate } from '../../../cluster/waiting.ts';
import { whyTooOften, whyWrongEnd } from '../../../core/report-counts.ts';
import type { AttemptRef, QueueName } from '../../../core/tasks/address.ts';
import { dataFaultOf } from '../../../core/tasks/failure.ts';
import { noSums } from '../../../core/tasks/state.ts';
import type { ScoredRecords } from '../../../model/model.ts';
import type { ReplyHeader, RequestHeader, TaskEnd } from '../../../protocol/messages/all-messages.ts';
import type { Outgoing, Received, Session } from '../../../protocol/messages/channel.ts';
import { toErrorHeader } from '../../../protocol/messages/error-header.ts';
import { type Dataset, describeTask, taskChunks } from '../dataset.ts';
import { type MasterState, waitReason } from '../state.ts';
import { whileOpen } from '../while-open.ts';
import type { TaskAsker, TaskService } from './service.ts';

type HeaderOf<T extends RequestHeader['type']> = Extract<RequestHeader, { type: T }>;
export type TaskRequest = HeaderOf<
  'getTasks' | 'finishTasks' | 'failTask' | 'returnTask' | 'finishEvaluation' | 'progress'
>;
type Reply = Outgoing<ReplyHeader>;

export async function answerTasks(
  state: MasterState,
  request: Received<TaskRequest>,
  session: Session,
): Promise<Reply> {
  const { header } = request;
  switch (header.type) {
    case 'getTasks':
      return withSaveHint(state, await getTasks(state, header, session));
    case 'finishTasks':
      return finishTasks(state, header);
    case 'failTask': {
      await failTask(state, header);
      return { header: { type: 'failTask' } };
    }
    case 'returnTask':
      checkRead(state, header);
      await serviceOf(state, header.queue).giveBack(refOf(header), header.read);
      return { header: { type: 'returnTask' } };
    case 'finishEvaluation':
      await finishEvaluation(state, header, request);
      return { header: { type: 'finishEvaluation' } };
    case 'progress':
      return { header: { type: 'progress', live: noteProgress(state, header) } };
  }
}

/** The fields of a header that name the attempt, and no others. */
const refOf = ({ queue, pass, task, attempt, trainer }: AttemptRef): AttemptRef => {
  return { queue, pass, task, attempt, trainer };
};

/** Undefined while that queue is not open. */
function openServiceOf({ training, evaluation }: MasterState, queue: QueueName): TaskService | undefined {
  if (queue === 'evaluate') return evaluation?.service;
  if (training.mode === 'sync') return undefined;
  return queue === 'train' ? training.service : training.repairs.batch()?.service;
}

/** `AttemptNotLive` when the queue is over: the evaluation or the repairs ended, as another pserver was restored. */
function serviceOf(state: MasterState, queue: QueueName): TaskService {
  if (queue !== 'evaluate' && state.training.mode === 'sync') {
    throw new PaddletError('BadMessage', 'this job is in sync mode: its passes are trained in lanes, not tasks');
  }
  const service = openServiceOf(state, queue);
  if (service !== undefined) return service;
  throw new PaddletError('AttemptNotLive', `the queue '${queue}' of this task has ended`);
}

async function failTask(state: MasterState, header: HeaderOf<'failTask'>): Promise<void> {
  const { code, error, hint, data, read, queue, pass, task, trainer } = header;
  dataFaultOf(header);
  checkRead(state, header);
  const dataset = datasetOf(state, queue);
  await serviceOf(state, queue).fail(refOf(header), { code, error, hint, data, read });
  // It was live: there is such a task.
  const which = queue === 'evaluate' ? `task ${task} of the evaluation` : `task ${task} of pass ${pass + 1}`;
  state.failures.failed(trainer, { what: `${which} (${describeTask(dataset!, task)})`, code, error });
}

/** Undefined while there is no evaluation. */
const datasetOf = ({ training, evaluation }: MasterState, queue: QueueName): Dataset | undefined =>
  queue === 'evaluate' ? evaluation?.dataset : training.dataset;

/** Throws `WrongCounts` when more was read than any attempt at the task reads. */
function checkRead(state: MasterState, header: HeaderOf<'failTask' | 'returnTask'>): void {
  const why = whyTooOften(datasetOf(state, header.queue)?.taskRecords[header.task] ?? 0, header.read);
  if (why !== undefined) throw wrongCounts(header, why);
}

/** Done means closed in every shard as it is now: what was acknowledged before a shard was restored does not count. */
async function finishTask(state: MasterState, trainer: string, end: TaskEnd): Promise<void> {
  const { training } = state;
  const ref = refOf({ ...end, trainer });
  if (end.queue === 'evaluate' || training.mode === 'sync') {
    throw new PaddletError('BadMessage', 'finishTasks is only for training and repair tasks of a job in async mode');
  }
  const now = training.recovery();
  if (end.recovery < now) {
    throw new PaddletError(
      'StaleRecovery',
      `the pushes were acknowledged under recovery ${end.recovery}, but the current recovery is ${now}`,
    );
  }
  const { read, good, bad, duplicate, metrics } = end;
  const records = training.dataset.taskRecords[end.task] ?? 0;
  const counted = { records, maxBadRecords: state.record.job.data.maxBadRecords };
  const why =
    (end.records === records ? undefined : `${end.records} records`) ??
    whyWrongEnd(counted, end) ??
    whyTooOften(records, Math.max(read, duplicate));
  if (why !== undefined) throw wrongCounts(ref, why);
  failPoint('finish.received');
  await serviceOf(state, end.queue).finish(ref, { read, good, bad, duplicate, metrics });
  state.failures.succeeded(trainer);
  failPoint('finish.recorded');
}

/** All in one turn, so that they are saved together. Each is accepted or refused by itself. */
async function finishTasks(state: MasterState, { trainer, ends }: HeaderOf<'finishTasks'>): Promise<Reply> {
  const ended = await Promise.allSettled(ends.map((end) => finishTask(state, trainer, end)));
  const refused = ended.flatMap((one, at) =>
    one.status === 'fulfilled' ? [] : [{ at, error: toErrorHeader(refusalOf(one.reason)) }],
  );
  return { header: { type: 'finishTasks', refused } };
}

/** Throws errors that are not about one task: a bug, or that this master cannot answer now. */
function refusalOf(error: unknown): PaddletError {
  if (!isPaddletError(error) || error.action === 'retry') throw error;
  return error;
}

interface Asker extends TaskAsker {
  /**
   * The work when the trainer asked: if it has changed since, even while the answer was made, the trainer is answered
   * at once.
   */
  readonly before: OpenWork;
}

/** What there is to do besides the tasks of the passes. */
interface OpenWork {
  readonly evaluation: TaskService | undefined;
  readonly repair: TaskService | undefined;
  /** All that may be trained is done. */
  readonly isTrained: boolean;
  readonly isFinished: boolean;
}

const openWork = (state: MasterState): OpenWork => ({
  evaluation: openServiceOf(state, 'evaluate'),
  repair: openServiceOf(state, 'repair'),
  isTrained: openServiceOf(state, 'train')?.queue.counts().phase === 'ended',
  isFinished: state.isFinished,
});

/** Repairs first, then training, then evaluation. */
async function getTasks(state: MasterState, header: HeaderOf<'getTasks'>, session: Session): Promise<Reply> {
  const { trainer, held, most, maxWaitMs } = header;
  return whileOpen(session, async (closed) => {
    const asker: Asker = { trainer, held, most, maxWaitMs, closed, before: openWork(state) };
    return (await nextTraining(state, asker)) ?? (await nextEvaluation(state, asker));
  });
}

/** Undefined when the passes are over. */
async function nextTraining(state: MasterState, asker: Asker): Promise<Reply | undefined> {
  const { training } = state;
  if (training.mode === 'sync') return undefined;
  const fitting = withRoom(asker, training.dataset);
  const repair = await training.repairs.batch()?.service.getTasks({ ...fitting, maxWaitMs: 0 });
  if (typeof repair === 'object') return tasksReply(training.dataset, repair);
  const next = await training.service.getTasks(fitting);
  if (next === 'wait') return waitReply(state);
  return next === 'none' ? undefined : tasksReply(training.dataset, next);
}

async function nextEvaluation(state: MasterState, asker: Asker): Promise<Reply> {
  if (state.isFinished) return { header: { type: 'getTasks', state: 'finished' } };
  const { evaluation } = state;
  const next = (await evaluation?.service.getTasks(withRoom(asker, evaluation.dataset))) ?? 'none';
  if (evaluation !== undefined && typeof next === 'object') return tasksReply(evaluation.dataset, next);
  if (next === 'none') await changeSince(state, asker);
  return waitReply(state);
}

/** Training or evaluation has ended and something follows: another round of it, a model to save, or the end. */
async function changeSince(state: MasterState, { before, maxWaitMs, closed }: Asker): Promise<void> {
  const hasChanged = (): true | undefined => {
    const { evaluation, repair, isTrained, isFinished } = openWork(state);
    const isSame = evaluation === before.evaluation && repair === before.repair;
    const isSameEnd = isTrained === before.isTrained && isFinished === before.isFinished;
    return !isSame || !isSameEnd || state.saves?.isWanted() === true ? true : undefined;
  };
  await untilOrLate(state.changed, hasChanged, { clock: state.clock, maxWaitMs, signal: closed });
}

/** Adds to the answer that a model is to be saved. */
function withSaveHint(state: MasterState, reply: Reply): Reply {
  const { header } = reply;
  if (header.type !== 'getTasks' || state.saves?.isWanted() !== true) return reply;
  return { ...reply, header: { ...header, saveModel: true } };
}

const waitReply = (state: MasterState): Reply => ({
  header: { type: 'getTasks', state: 'wait', reason: waitReason(state) },
});

/** What is dealt is saved before it is answered, so it must have room then. */
const withRoom = (asker: Asker, { tasksAtOnce }: Dataset): Asker => ({
  ...asker,
  most: Math.min(asker.most, tasksAtOnce),
});

function tasksReply(dataset: Dataset, attempts: readonly AttemptRef[]): Reply {
  const tasks = attempts.map(({ queue, pass, task, attempt }) => {
    return { queue, pass, task, attempt, ...taskChunks(dataset, task) };
  });
  return { header: { type: 'getTasks', state: 'tasks', tasks } };
}

async function finishEvaluation(
  state: MasterState,
  header: HeaderOf<'finishEvaluation'>,
  request: Received<RequestHeader>,
): Promise<void> {
  if (header.queue !== 'evaluate')
    throw new PaddletError('BadMessage', 'finishEvaluation is only for evaluation tasks');
  const service = serviceOf(state, 'evaluate');
  const ref = refOf(header);
  const { metrics, bad, task } = header;
  const { taskRecords } = state.evaluation!.dataset;
  const counted = { records: taskRecords[task] ?? 0, maxBadRecords: state.record.job.data.maxBadRecords };
  const why = whyWrongEnd(counted, { good: metrics.records, bad, metrics });
  if (why !== undefined) throw wrongCounts(header, why);
  // Before the report is accepted, as that may end the evaluation; what is not live must not replace what is there.
  if (service.queue.isLive(ref)) state.evaluation?.results.add(task, { metrics, ...scoresIn(request) });
  await service.finish(ref, { ...noSums(), bad, metrics });
  state.failures.succeeded(header.trainer);
}

const wrongCounts = ({ queue, pass, task, attempt, trainer }: AttemptRef, why: string): PaddletError =>
  new PaddletError(
    'WrongCounts',
    `attempt ${attempt} of task ${task} in pass ${pass} (${queue}) by ${trainer}: ${why}`,
  );

function scoresIn(request: Received<RequestHeader>): ScoredRecords {
  if (request.segmentCount !== 4) throw new PaddletError('BadMessage', 'finishEvaluation has four segments');
  const weights = floats(request, 2);
  const groups = new Uint8Array(request.segment(3));
  return {
    scores: floats(request, 0),
    labels: floats(request, 1),
    weights: weights.length === 0 ? undefined : weights,
    groups: groups.length === 0 ? undefined : groups,
  };
}

/** A copy: the landing is freed when the request is answered. */
function floats(request: Received<RequestHeader>, segment: number): Float32Array {
  const bytes = request.segment(segment);
  if (bytes.byteLength % 4 !== 0) throw new PaddletError('BadMessage', `segment ${segment}: not a whole number of f32`);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

/** Tells every open queue, each of which knows its own tasks. False when the attempt that is executed is not live. */
function noteProgress(state: MasterState, header: HeaderOf<'progress'>): boolean {
  const { trainer, phase, executing, records, loss } = header;
  state.trainers.heard(trainer, { phase, records, loss, executing });
  for (const queue of ['repair', 'train', 'evaluate'] as const) {
    openServiceOf(state, queue)?.tell({ type: 'progress', trainer, phase, executing });
  }
  if (executing === undefined) return true;
  return openServiceOf(state, executing.queue)?.queue.isLive({ ...executing, trainer }) ?? false;
}
