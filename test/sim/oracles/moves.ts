/** Moves of units end, one way or the other, while nothing goes wrong. */
import { isPaddletError } from '../../../src/base/errors.ts';
import { isSameOwner, type MoveName } from '../../../src/core/units/move-messages.ts';
import type { LedUnits } from './led-units.ts';
import type { Answered, Oracle, World } from './oracle.ts';

/** How long a move may take at most while everything is well. */
const LONGEST_MOVE_MS = 30_000;
const LOOK_MS = 1_000;

interface SeenMove {
  readonly name: MoveName;
  readonly sinceMs: number;
}

export function moves(world: World, led: LedUnits): Oracle {
  const underWay = new Map<string, SeenMove>();
  let lookAtMs = 0;

  /** Both processes live, and the source leads the unit under the head from which the move began. */
  function isUnderWay({ name: { unit, epoch, source, target } }: SeenMove): boolean {
    const head = led.head(unit);
    const isSources = head !== undefined && head.epoch === epoch && isSameOwner(head.primary, source);
    return isSources && led.isLive(source) && led.isLive(target);
  }

  function lookForStuck(): void {
    const nowMs = world.nowMs();
    if (nowMs < lookAtMs) return;
    lookAtMs = nowMs + LOOK_MS;
    for (const [key, move] of underWay) {
      if (!isUnderWay(move)) underWay.delete(key);
      else if (nowMs - Math.max(move.sinceMs, world.calmSinceMs()) > LONGEST_MOVE_MS) {
        world.violated(`the move ${key} does not end`);
      }
    }
  }

  function heard({ request, outcome }: Answered): void {
    if (isPaddletError(outcome) || !('move' in request) || !('answers' in outcome)) return;
    const key = JSON.stringify(request.move);
    for (const answer of outcome.answers) {
      if (answer.type === 'accepted') {
        world.count('move accepted');
        underWay.set(key, { name: request.move, sinceMs: world.nowMs() });
      } else if (answer.type === 'sealed' && answer.move.purpose === 'copy') {
        if (underWay.delete(key)) world.count('copy made');
      } else if (answer.type === 'refused') world.count('offer refused');
      else if (answer.type === 'discarded' && underWay.delete(key)) world.count('move abandoned');
    }
  }

  return {
    answered(answered) {
      lookForStuck();
      heard(answered);
    },
    refused({ process, key, value }) {
      if (!key.startsWith(world.keys.headsPrefix)) return;
      const { primary } = JSON.parse(value) as { primary: { token: string } };
      if (primary.token !== led.tokenOf(process)) world.count('refused hand-over');
    },
  };
}
