/**
 * Async mode, where units have copies: an update is judged, placed in all units that it concerns, and answered when
 * each of them has committed it. What was judged before a wait is judged again after it.
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
  /** Its arrays may be those of the request. Asked for again when it is placed: they may have moved. */
  readonly make: () => Update;
  readonly units: readonly number[];
  readonly isStill: () => boolean;
  /** As `make`, with what is decided as it is placed. */
  readonly decide: () => Update;
}

/** `again`: judges it once more. `answer`: it counts. */
export function placeUpdate(
  serving: Pick<Serving, 'isHeld'>,
  { placing, job }: Pick<ServedReplicas, 'placing' | 'job'>,
  judged: JudgedUpdate,
  { again, answer }: { readonly again: () => Reply | Promise<Reply>; readonly answer: () => Reply },
): Promise<Reply> {
  const { make, units, isStill, decide } = judged;
  const update = make();
  const payload = new SharedUpdate({ of: job, update, units });
  payload.checkFrame();
  let outcome: PlacingOutcome | undefined;
  const placed = placing.place({ payload, isStill, make: decide, isCounted: update.type === 'push' }).then((ended) => {
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

/** The turn ends with the answer, or with what is thrown. */
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

/** A retry counts once: units that have committed it say that it is a duplicate. */
const failed = (): PaddletError =>
  new PaddletError(
    'ReplicaFailed',
    'a copy of a unit failed, or another pserver leads the unit now: send the push again',
  );
