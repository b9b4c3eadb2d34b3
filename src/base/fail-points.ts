/**
 * Named points in the code where a test with real processes can inject a failure: `PADDLET_FAIL=point:action[@hit][,…]`
 * (docs/fail-points.md). When it is unset, a point costs one comparison with undefined.
 */
import { isErrorCode, PaddletError } from './errors.ts';
import { LIMITS } from './limits.ts';

/** Every point, with the moment that it marks. */
export const FAIL_POINTS = {
  'child.revoking': 'a child has exited, and its lease is not yet revoked',
  'checkpoint.begun': 'the temporary file is made and empty',
  'checkpoint.captured': 'a shard was copied and given to the writer',
  'checkpoint.written': 'the file is written, header included, and not yet synced',
  'checkpoint.synced': 'the temporary file is on stable storage',
  'checkpoint.digested': 'the MD5 of the file is known',
  'checkpoint.renamed': 'the file has its final name, and the folder is not yet synced',
  'checkpoint.folder-synced': 'the file is durable, and not yet published',
  'checkpoint.published': 'the key of the file is in the store, and the replaced files are not yet deleted',
  'checkpoint.deleted': 'a replaced file is deleted',
  'checkpoint.parted': 'the snapshot of an owner that lost its index is announced',
  'pserver.claimed': 'the index is owned, nothing is loaded',
  'pserver.loaded': 'the parameters are loaded, no recovery number is raised',
  'pserver.rounds-loaded': 'sync mode: the parameters are loaded, no shard is taken',
  'pserver.cut-loaded':
    'sync mode: the shards are loaded from the cut to which all pservers go back, and not yet served',
  'pserver.recovery-raised': 'the recovery number is raised, no shard is taken',
  'heads.changed': 'a transaction on the heads of units is answered, and no process has acted on it',
  'pserver.shards-taken': 'all heads name the pserver, and it does not serve yet',
  'move.offered': 'the source of a move: its target takes the unit, nothing is copied',
  'move.copied': 'the source of a move: its target has all shards, and is sent the updates',
  'move.sealed': 'the source of a move: the copy is complete and final, the change of the head is not sent',
  'move.decided': 'the source of a move: the change of the head is answered, and no process has acted on it',
  'move.accepted': 'the target of a move: it takes the unit, and its source does not know it yet',
  'move.filled': 'the target of a move: it has all shards',
  'move.confirmed': 'the target of a move: its copy is complete and final, and its source does not know it yet',
  'move.leading': 'the target of a move: it leads the unit, and has not answered a request for it',
  'pserver.opened': 'no head names the loaded file as the last state, and no update is applied',
  'push.received': 'a push is about to be judged',
  'push.applied': 'the push is applied and recorded, the targets of moves and the version do not have it',
  'push.advanced': 'the ledger has the push, and the answer is not sent',
  'copies.committed': 'a push that every copy has staged: the primary has applied it, and told no one',
  'copies.staged':
    'a pserver has staged an update of a unit whose primary is another pserver; the primary has no answer yet',
  'copies.promoting':
    'a pserver is about to be promoted to primary of units whose primary died; the change of their heads is not sent',
  'copies.promoted': 'the change of the head that promotes the pserver is answered, and no process has acted on it',
  'lane.taken': 'a lane of a round is kept, and the answer is not sent',
  'round.applied': 'the round is applied and recorded, and no version is above it',
  'timeline.raised': 'all pservers must go back to the cut, and none has',
  'trainer.lane-acknowledged': 'one pserver acknowledged a lane, others may not have',
  'trainer.lanes-pushed': 'every pserver acknowledged all lanes of this trainer',
  'cut.saved': 'every pserver published its part of a cut, the cut is not complete',
  'cut.completed': 'the cut is complete',
  'master.locked': 'the lock is owned',
  'job.continuing': 'a job is about to get more passes',
  'job.continued': 'the new number of passes is in the store, no task is handed out',
  'tasks.saving': 'changes of the queue are about to be saved',
  'tasks.saved': 'the changes of the queue are saved, and no answer that depends on them is sent',
  'finish.received': 'a finished task is about to be recorded',
  'finish.recorded': 'the finished task is saved, and the answer is not sent',
  'repair.found': 'the tasks to be repaired are known',
  'repair.done': 'the tasks are repaired, and the number `reconciled` is not yet saved',
  'evaluation.kept': 'the files of a model are kept, and the store does not have the model yet',
  'evaluation.going-on': 'a model is saved, and training is about to continue',
  'result.publishing': 'the result is about to be published',
  'trainer.dealt': 'this trainer got a task',
  'trainer.pserver-acknowledged': 'one pserver acknowledged a push, others may not have',
  'trainer.pushed': 'every pserver acknowledged a push',
  'trainer.finishing': 'a task is closed in every shard, and the master does not know it yet',
  'trainer.finished': 'the master answered that the task is done',
  'model.written': 'the merged model is written under a temporary name',
} as const satisfies Record<string, string>;

export type FailPoint = keyof typeof FAIL_POINTS;

/** What a fail point can do to the process. */
export interface FailHands {
  /** Ends the process as SIGKILL does: nothing runs after it. */
  kill(): void;
  /** Stops the whole process, as SIGSTOP does. */
  stop(forMs: number): void;
  say(message: string): void;
}

interface Armed {
  readonly act: () => void;
  readonly from: number;
  readonly to: number;
}

let armed: ReadonlyMap<FailPoint, readonly Armed[]> | undefined;
const hits = new Map<FailPoint, number>();

/** Acts when the point is armed: may not return, may return late, may throw. */
export function failPoint(point: FailPoint): void {
  if (armed !== undefined) hit(armed, point);
}

function hit(points: NonNullable<typeof armed>, point: FailPoint): void {
  const number = (hits.get(point) ?? 0) + 1;
  hits.set(point, number);
  for (const { act, from, to } of points.get(point) ?? []) if (number >= from && number <= to) act();
}

/** Arms the points in the text and disarms all others; `Usage` when the text is malformed. */
export function armFailPoints(text: string | undefined, hands: FailHands): void {
  armed = undefined;
  hits.clear();
  if (text === undefined || text === '') return;
  const points = new Map<FailPoint, Armed[]>();
  for (const item of text.split(',')) {
    const { point, ...one } = parseItem(item.trim(), hands);
    points.set(point, [...(points.get(point) ?? []), one]);
  }
  armed = points;
  hands.say(`fail points are armed: ${text}`);
}

const ITEM =
  /^(?<point>[a-z.-]+):(?<action>kill|delay|error)(?:=(?<value>\w+))?(?:@(?<hit>[1-9]\d{0,8})(?<more>\+)?)?$/;

function parseItem(item: string, hands: FailHands): Armed & { readonly point: FailPoint } {
  const { point = '', action, value, hit: first, more } = ITEM.exec(item)?.groups ?? {};
  const wrong = (why: string): PaddletError =>
    new PaddletError('Usage', `PADDLET_FAIL: ${JSON.stringify(item)}: ${why}`, {
      hint: 'write point:kill, point:delay=MS or point:error[=CODE]; add @N for the Nth hit only, or @N+ for the Nth hit and all later ones (paddlet docs fail-points)',
    });
  if (action === undefined) throw wrong('expected the form point:action');
  if (!isFailPoint(point)) throw wrong(`unknown point ${point}`);
  const from = first === undefined ? 1 : Number(first);
  const to = first === undefined || more !== undefined ? Number.POSITIVE_INFINITY : from;
  const hit = (act: () => void) => (): void => {
    hands.say(`fail point ${item}`);
    act();
  };
  if (action === 'kill') {
    if (value !== undefined) throw wrong('kill does not take a value');
    return { point, from, to, act: hit(hands.kill) };
  }
  if (action === 'delay') {
    const forMs = Number(value);
    if (!/^\d+$/.test(value ?? '') || forMs > LIMITS.failDelayMs)
      throw wrong(`expected delay=MS, at most ${LIMITS.failDelayMs}`);
    return { point, from, to, act: hit(() => hands.stop(forMs)) };
  }
  if (value !== undefined && !isErrorCode(value)) throw wrong(`unknown error code ${value}`);
  return {
    point,
    from,
    to,
    act: hit(() => {
      if (value !== undefined) throw new PaddletError(value, `fail point ${point}`);
      throw Object.assign(new Error(`EIO: fail point ${point}`), { code: 'EIO' });
    }),
  };
}

const isFailPoint = (name: string): name is FailPoint => Object.hasOwn(FAIL_POINTS, name);
