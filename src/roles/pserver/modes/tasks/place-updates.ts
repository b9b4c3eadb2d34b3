/**
 * Async mode, where units have copies: judges an update, places it in all units that it concerns, and answers when each
 * of these units has committed it. After each wait, the pserver judges the update again.
 */
import { PaddletError } from '../../../../base/errors.ts';
import type { PlacingOutcome } from '../../replicas/placing.ts';
import type { ServedReplicas } from '../../replicas/served-replicas.ts';
import type { TaskTurn } from '../../replicas/task-turns.ts';
import { answerAfter } from '../../requests/checks.ts';
import type { Reply } from '../../requests/requests.ts';
import type { Serving } from '../../serving.ts';
import { SharedUpdate } from '../../update/shared-update.ts';
import type { Update } from '../../update/update.ts';

export interface JudgedUpdate {
  /**
   * Makes the update, to measure it. Its arrays may be views of the request, which can move before the update is
   * placed. So `decide` makes the update again.
   */
  readonly make: () => Update;
  readonly units: readonly number[];
  readonly isCurrent: () => boolean;
  /** Makes the update at the moment of placing, with values that depend on its place, such as the rate scale. */
  readonly decide: () => Update;
}

/**
 * Places the update. `again` judges the update once more; `answer` makes the reply after every unit has committed the
 * update.
 */
export function placeUpdate(
  serving: Pick<Serving, 'isHeld'>,
  { placing, job }: Pick<ServedReplicas, 'placing' | 'job'>,
  judged: JudgedUpdate,
  { again, answer }: { readonly again: () => Reply | Promise<Reply>; readonly answer: () => Reply },
): Promise<Reply> {
  const { make, units, isCurrent, decide } = judged;
  const update = make();
  const payload = new SharedUpdate({ of: job, update, units });
  payload.checkFrame();
  let outcome: PlacingOutcome | undefined;
  const placed = placing
    .place({ payload, isCurrent, make: decide, isCounted: update.type === 'push' })
    .then((ended) => {
      outcome = ended;
    });
  return Promise.resolve(
    answerAfter(serving, placed, () => {
      if (outcome === 'again') return again();
      if (outcome === 'failed') throw failed();
      return answer();
    }),
  );
}

/** Ends the turn when the answer is ready or has failed. */
export function inTurn(turn: TaskTurn, answer: () => Reply | Promise<Reply>): Reply | Promise<Reply> {
  let later: Promise<Reply> | undefined;
  try {
    const answered = answer();
    if (!(answered instanceof Promise)) return answered;
    later = answered.finally(() => turn.end());
    return later;
  } finally {
    if (later === undefined) turn.end();
  }
}

/** A retried push counts once, because units that have committed it recognize the duplicate. */
const failed = (): PaddletError =>
  new PaddletError(
    'ReplicaFailed',
    'a copy of a unit failed, or another pserver leads the unit now: send the push again',
  );
