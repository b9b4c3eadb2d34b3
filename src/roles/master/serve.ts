/** What the master answers to trainers. Evaluation tasks travel as tasks of the pass after the last. */
import { PaddletError } from '../../base/errors.ts';
import type { AttemptRef } from '../../core/task-events.ts';
import { noSums } from '../../core/task-state.ts';
import type { Outgoing, Received, RequestHandler, Session } from '../../protocol/channel.ts';
import type { DealtTask, ReplyHeader, RequestHeader } from '../../protocol/messages.ts';
import type { JobRecord } from '../job-record.ts';
import { type Dataset, taskParts } from './dataset.ts';
import type { EvaluationResults } from './evaluation.ts';
import type { TaskDesk } from './task-desk.ts';
import type { LiveTrainers } from './trainers.ts';

export interface MasterState {
  readonly record: JobRecord;
  readonly trainers: LiveTrainers;
  readonly train: { readonly desk: TaskDesk; readonly dataset: Dataset };
  /** There once training has ended, when the job has a test file. */
  evaluate: { readonly desk: TaskDesk; readonly dataset: Dataset; readonly results: EvaluationResults } | undefined;
  /** Settles when it is known whether there is an evaluation: trainers that find no more training wait for it. */
  readonly trained: Promise<void>;
  readonly isHeld: () => boolean;
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
    if (header.cut !== now.record.cut) throw new PaddletError('WrongCut', `the cut id here is ${now.record.cut}`);
    if (!now.isHeld()) throw new PaddletError('Suspended', 'this master is cut off from the store');
    return answer(now, request, session);
  };
}

async function answer(state: MasterState, request: Received<RequestHeader>, session: Session): Promise<Reply> {
  const { header } = request;
  switch (header.type) {
    case 'getTask':
      return getTask(state, request as RequestOf<'getTask'>, session);
    case 'finishTask': {
      const { read, good, bad, duplicate, metrics } = header;
      await trainDesk(state, header).finish(refOf(header), { read, good, bad, duplicate, metrics });
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
    case 'progress':
      progress(state, header);
      return { header: { type: 'progress' } };
    default:
      throw new PaddletError('WrongRole', `a master does not answer '${header.type}'`);
  }
}

const isEvaluation = (state: MasterState, pass: number): boolean => pass === state.record.job.training.passes;

/** The desk, with the reference as its queue knows it. */
function deskOf(state: MasterState, ref: AttemptRef): { desk: TaskDesk; ref: AttemptRef } {
  if (!isEvaluation(state, ref.pass)) return { desk: state.train.desk, ref: refOf(ref) };
  if (state.evaluate === undefined) throw new PaddletError('PassAfter', 'evaluation has not begun');
  return { desk: state.evaluate.desk, ref: evaluationRef(ref) };
}

function trainDesk(state: MasterState, ref: { pass: number }): TaskDesk {
  if (isEvaluation(state, ref.pass))
    throw new PaddletError('BadMessage', 'an evaluation task ends with finishEvaluation');
  return state.train.desk;
}

/** Each queue numbers its own passes; the evaluation's has one, number 0. */
const refOf = ({ trainer, pass, task, attempt }: AttemptRef): AttemptRef => ({ trainer, pass, task, attempt });
const evaluationRef = (ref: AttemptRef): AttemptRef => ({ ...refOf(ref), pass: 0 });

async function getTask(state: MasterState, request: RequestOf<'getTask'>, session: Session): Promise<Reply> {
  const { trainer, maxWaitMs } = request.header;
  const held = request.header.held.map((ref) => ({ trainer, ...ref }));
  const closed = new AbortController();
  const cancel = session.onClosed(() => closed.abort());
  try {
    const training = held.filter((ref) => !isEvaluation(state, ref.pass));
    const first = await state.train.desk.getTask(trainer, training, maxWaitMs, closed.signal);
    if (first === 'wait') return waitReply(state);
    if (first !== 'none') return dealt('train', state.train.dataset, first.attempt, first.attempt.pass);
    await state.trained;
    if (state.evaluate === undefined) return { header: { type: 'getTask', state: 'finished' } };
    const evaluating = held.filter((ref) => isEvaluation(state, ref.pass)).map(evaluationRef);
    const second = await state.evaluate.desk.getTask(trainer, evaluating, maxWaitMs, closed.signal);
    if (second === 'wait') return waitReply(state);
    if (second === 'none') return { header: { type: 'getTask', state: 'finished' } };
    return dealt('evaluate', state.evaluate.dataset, second.attempt, state.record.job.training.passes);
  } finally {
    cancel();
  }
}

function waitReply(state: MasterState): Reply {
  const { pending } = state.train.desk.queue.counts();
  return { header: { type: 'getTask', state: 'wait', reason: `all tasks are dealt; ${pending} are being worked on` } };
}

function dealt(kind: DealtTask['kind'], dataset: Dataset, ref: AttemptRef, pass: number): Reply {
  const { files, chunks } = taskParts(dataset, ref.task);
  const task: DealtTask = { kind, pass, task: ref.task, attempt: ref.attempt, files: files.map(wireFile), chunks };
  return { header: { type: 'getTask', state: 'task', task } };
}

function wireFile({ path, bytes, records, labels }: Dataset['index']['files'][number]): DealtTask['files'][number] {
  return { path, bytes, records, ...(labels === undefined ? {} : { labels: { ...labels } }) };
}

async function finishEvaluation(state: MasterState, request: RequestOf<'finishEvaluation'>): Promise<Reply> {
  const { header } = request;
  if (state.evaluate === undefined || !isEvaluation(state, header.pass)) {
    throw new PaddletError('BadMessage', 'finishEvaluation names a task that is not one of evaluation');
  }
  const { desk, results } = state.evaluate;
  results.add(header.task, header.metrics, floats(request, 0), floats(request, 1));
  await desk.finish(evaluationRef(header), { ...noSums(), bad: header.bad, metrics: header.metrics });
  return { header: { type: 'finishEvaluation' } };
}

/** A copy: the landing is freed when the request is answered. */
function floats(request: RequestOf<'finishEvaluation'>, segment: number): Float32Array {
  if (request.segmentCount !== 2) throw new PaddletError('BadMessage', 'finishEvaluation has two segments');
  const bytes = request.segment(segment);
  if (bytes.byteLength % 4 !== 0) throw new PaddletError('BadMessage', `segment ${segment}: not a whole number of f32`);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

function progress(state: MasterState, header: Extract<RequestHeader, { type: 'progress' }>): void {
  const { trainer, phase, executing, records, loss } = header;
  const evaluating = executing !== undefined && isEvaluation(state, executing.pass);
  state.trainers.heard(trainer, { phase, records, loss, executing });
  state.train.desk.tell({ type: 'progress', trainer, phase, executing: evaluating ? undefined : executing });
  const inEvaluation = evaluating ? { ...executing, pass: 0 } : undefined;
  state.evaluate?.desk.tell({ type: 'progress', trainer, phase, executing: inEvaluation });
}
