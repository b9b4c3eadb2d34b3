/** Passes each request to its handler, and checks before and after it whether this pserver may answer. */
import { PaddletError } from '../../base/errors.ts';
import { asSuspended } from '../../cluster/as-suspended.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { PserverTime } from '../../cluster/role-times.ts';
import type { Received, RequestHandler, Session } from '../../protocol/messages/channel.ts';
import { type ServedFiles, serveFile } from './files/serve-file.ts';
import { pullVersion, pushLane, roundsOf } from './modes/rounds/push-pull.ts';
import { closeTasks } from './modes/tasks/close-tasks.ts';
import { pull, push } from './modes/tasks/push-pull.ts';
import { copyDigest, openReplicas, replicate, unitCopies } from './replicas/requests.ts';
import { answerWhenReady, checkHeld, checkStamp } from './requests/checks.ts';
import type { Header, Reply, Request, RequestType } from './requests/requests.ts';
import type { ServedJob, Serving } from './serving.ts';
import { decodeMove, encodeAnswers, type MoveRequest } from './transfer/move-codec.ts';
import { checkTask } from './update/codec.ts';

type JobType = Exclude<RequestType, 'info' | 'readFile'>;
type Handler<T extends JobType> = (serving: Serving, request: Request<T>, session: Session) => Reply | Promise<Reply>;

/** The handler of each message. The compiler reports a missing one. */
const HANDLERS: { readonly [T in JobType]: Handler<T> } = {
  pull,
  push,
  closeTasks(serving, { header: { masterSecret, tasks } }) {
    serving.checkMaster(masterSecret);
    for (const { pass, task } of tasks) checkTask(serving.job, pass, task);
    return closeTasks(serving, tasks);
  },
  pullVersion,
  pushLane,
  rounds: (serving, request, session) => roundsOf(serving).position(request, session),
  cut(serving, request, session) {
    serving.checkMaster(request.header.masterSecret);
    return roundsOf(serving).cut(request, session);
  },
  position,
  closed,
  account,
  checkpoint: (serving, { header }) => checkpoint(serving, header),
  scanRows: ({ scanner }, { header }) => scanner.rows(header),
  scanBlock: ({ scanner }, { header }) => scanner.block(header),
  openMove: (serving) => {
    movesOf(serving);
    return { header: { type: 'openMove' } };
  },
  offerMove: (serving, request) => fromSource(serving, request),
  moveFrame: (serving, request) => fromSource(serving, request),
  abandonMove: (serving, request) => fromSource(serving, request),
  unitMoved: (serving, request) => fromSource(serving, request),
  openReplicas: (serving, request, session) => openReplicas(replicasOf(serving), request, session),
  replicate: (serving, request, session) => replicate(replicasOf(serving), request, session),
  unitCopies: (serving, request) => unitCopies(replicasOf(serving), request),
  copyDigest: (serving, request) => copyDigest(replicasOf(serving), request),
  getLanes: refuse,
  getPlan: refuse,
  getChunks: refuse,
  failLane: refuse,
  returnLanes: refuse,
  roundStuck: refuse,
  getTasks: refuse,
  finishTasks: refuse,
  failTask: refuse,
  returnTask: refuse,
  finishEvaluation: refuse,
  requestSaveModel: refuse,
  savedModel: refuse,
  progress: refuse,
};

/** Refuses messages that only the master handles. */
function refuse(_: Serving, { header }: Request<JobType>): never {
  throw new PaddletError('WrongRole', `a pserver does not handle '${header.type}' requests: send them to the master`);
}

export interface Handled {
  /** Undefined until the shards are taken and loaded, and while they go back to a cut. */
  readonly serving: () => Serving | undefined;
  /** Content of the `info` answer. While `serving` is undefined, `waitingFor` contains the reason. */
  readonly info: () => Record<string, unknown>;
  /** Undefined until this pserver has claimed an index. */
  readonly files: () => (ServedFiles & { readonly job: JobRecord }) | undefined;
}

export function createHandler({ serving, info, files }: Handled): RequestHandler {
  return (request, session) => {
    const { header } = request;
    if (header.type === 'info') return { header: { type: 'info', info: info() } };
    if (header.type === 'readFile') {
      const own = files();
      if (own === undefined) throw notReady(info());
      checkJob(own.job, header);
      return serveFile(own, header);
    }
    const current = serving();
    if (current === undefined) throw notReady(info());
    checkJob(current.job, header);
    checkHeld(current);
    const ready = (): Promise<void> | undefined =>
      isAboutCopies(header) ? undefined : (current.moves?.wait('read') ?? current.replicas?.wait('read'));
    const checkStill = (): void => {
      if (!isAboutCopies(header) && serving() !== current) throw goneBack();
      checkMeant(current, header);
    };
    const answered = answerWhenReady(current, ready, () => {
      checkStill();
      return answer(header.type, current, request as Request<JobType>, session);
    });
    if (!(answered instanceof Promise)) return answered;
    // The answer may have taken long, for example to write a file. Another pserver may now have the index or a unit. Or
    // all pservers may have gone back to a cut. Then the answer describes a timeline that has ended.
    return answered.then((reply) =>
      answerWhenReady(current, ready, () => {
        checkHeld(current);
        checkStill();
        return reply;
      }),
    );
  };
}

const goneBack = (): PaddletError => new PaddletError('NotReady', 'this pserver has since gone back to a cut');

function notReady({ waitingFor }: Record<string, unknown>): PaddletError {
  const what = typeof waitingFor === 'string' ? waitingFor : 'its shards';
  return new PaddletError('NotReady', `this pserver is not serving yet: it waits for ${what}`);
}

function answer<T extends JobType>(type: T, serving: Serving, request: Request<T>, session: Session) {
  return serving.metrics.times.during(TIME_OF[type] ?? 'other', () => HANDLERS[type](serving, request, session));
}

/** Activity that a handler's time counts as; default: `other`. Work after a wait is counted where it is done. */
const TIME_OF: { readonly [T in JobType]?: PserverTime } = {
  ...{ pull: 'pull', push: 'push', closeTasks: 'push', pushLane: 'push' },
  ...{ openMove: 'moves', offerMove: 'moves', moveFrame: 'moves', abandonMove: 'moves', unitMoved: 'moves' },
  ...{ openReplicas: 'copies', replicate: 'copies', unitCopies: 'copies', copyDigest: 'copies' },
};

/**
 * Checks the placement stamp of a request. Messages to the master have none, and their handler refuses them. Only a
 * checkpoint request may go to either role, so this refuses one without a stamp.
 */
function checkMeant({ shards }: Serving, header: Header<JobType>): void {
  if ('placement' in header && header.placement !== undefined) checkStamp(shards, header.placement);
  else if (header.type === 'checkpoint') throw new PaddletError('BadMessage', 'field placement: missing');
}

/**
 * Whether the message is about moves or copies of units. Such a message does not wait, because other requests may wait
 * for its effect.
 */
function isAboutCopies({ type }: Header<JobType>): boolean {
  return COPY_TYPES.has(type);
}

const COPY_TYPES: ReadonlySet<JobType> = new Set([
  ...(['openMove', 'offerMove', 'moveFrame', 'abandonMove', 'unitMoved'] as const),
  ...(['openReplicas', 'replicate', 'unitCopies', 'copyDigest'] as const),
]);

/** Throws `NotReady` if this pserver takes no part in moves. */
function movesOf({ moves }: Serving): NonNullable<Serving['moves']> {
  if (moves === undefined) throw new PaddletError('NotReady', 'this pserver takes no units now');
  return moves;
}

/** Throws `NotReady` if each unit has only one copy. */
function replicasOf({ replicas }: Serving): NonNullable<Serving['replicas']> {
  if (replicas === undefined) throw new PaddletError('NotReady', 'this pserver takes no copies of units now');
  return replicas;
}

/** Checks no placement stamp, because the target recognizes a move by its full name. */
async function fromSource(serving: Serving, request: Received<MoveRequest>): Promise<Reply> {
  const answers = await movesOf(serving).received(decodeMove(serving.job, request));
  return { header: { type: request.header.type, answers: encodeAnswers(answers) } };
}

function checkJob(job: Pick<ServedJob, 'id' | 'batchPlanId'>, header: Header<JobType | 'readFile'>): void {
  if (header.job !== job.id) {
    throw new PaddletError('WrongJob', 'this pserver serves another job');
  }
  if (header.batchPlanId === job.batchPlanId) return;
  throw new PaddletError('WrongBatchPlan', 'the batch plan of the request differs from the batch plan of the job', {
    hint: 'keep batchSize, pushEvery, recordsPerTask, seed and the data as they were when the job started',
  });
}

function position({ job, shards, recovery }: Serving, { header: { tasks } }: Request<'position'>): Reply {
  for (const { pass, task } of tasks) checkTask(job, pass, task);
  const next = tasks.map(({ pass, task }) => shards.committed.position(pass, task));
  return { header: { type: 'position', next, recovery: recovery() } };
}

function closed({ job, shards, recovery }: Serving, { header: { pass } }: Request<'closed'>): Reply {
  checkTask(job, pass, 0);
  const ledgers = shards.committed.closedTasks(pass);
  const watermark = shards.committed.watermark();
  return { header: { type: 'closed', recovery: recovery(), watermark, ledgers } };
}

function account({ shards, metrics, staleness, rounds }: Serving): Reply {
  const { applied, discarded, passes } = shards.committed.account();
  const roundsAccount = rounds && { ...rounds.observed(), metrics: rounds.metrics().map((one) => ({ ...one })) };
  return {
    header: {
      type: 'account',
      applied,
      discarded,
      duplicatePushes: metrics.duplicatePushes(),
      staleness: staleness.counts(),
      passes: passes.map((pass) => ({ ...pass })),
      ...shards.reportedTables(),
      ...(roundsAccount === undefined ? {} : { rounds: roundsAccount }),
    },
  };
}

async function checkpoint(serving: Serving, header: Header<'checkpoint'>): Promise<Reply> {
  const { final, mode = 'due' } = header;
  if (final) checkFinal(serving, header);
  const file = await serving.checkpoint(final ? 'last' : mode).catch(asSuspended);
  if (file === undefined) return { header: { type: 'checkpoint', outcome: 'running' } };
  const { uuid, md5, bytes } = file;
  return { header: { type: 'checkpoint', outcome: 'saved', saved: { uuid, md5, bytes } } };
}

/**
 * Throws `WrongCounts` unless every task is closed, because a final checkpoint must contain all updates. Throws
 * `StaleRecovery` if a pserver was restored since the master found all tasks done.
 */
function checkFinal(serving: Serving, { masterSecret, recovery, passes }: Header<'checkpoint'>): void {
  serving.checkMaster(masterSecret);
  const current = serving.recovery();
  if (recovery !== undefined && recovery < current) {
    throw new PaddletError(
      'StaleRecovery',
      `all tasks were done under recovery ${recovery}, but the current recovery is ${current}`,
    );
  }
  const { committed } = serving.shards;
  const complete = committed.watermark();
  const isClosed = passes === undefined ? complete >= serving.job.passes : complete === passes;
  if (isClosed && committed.isAgreed()) return;
  const hasMorePasses = passes !== undefined && complete > passes;
  const why = hasMorePasses
    ? `${complete} passes are complete, not ${passes}`
    : isClosed
      ? 'shards count different records'
      : `pass ${complete} has tasks that are open`;
  throw new PaddletError('WrongCounts', `the final checkpoint is refused: ${why}`);
}
