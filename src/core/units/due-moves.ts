/**
 * Which of its units a pserver should hand over now, and to whom: what the plan (plan.ts) says, once everything that
 * the plan is made of is known. Each pserver works this out for the units that it leads.
 */
import { movesOf, type PlannedMove, planUnits } from './plan.ts';

export interface SeenUnit {
  readonly unit: number;
  /** Index of its live primary, as the store shows it. */
  readonly leader: number | undefined;
  /** Undefined while no record tells it. */
  readonly bytes: number | undefined;
}

export interface SeenPserver {
  readonly index: number;
  /**
   * `unknown`: it does not serve yet, and is waited for. `late`: it has not served for so long that nothing waits for
   * it, and it gets nothing.
   */
  readonly status: 'up' | 'leaving' | 'unknown' | 'late';
}

export interface MovesView {
  /** Index of this pserver. */
  readonly me: number;
  readonly isLeaving: boolean;
  /** All units of the job. */
  readonly units: readonly SeenUnit[];
  /** Units that this pserver leads, as it knows itself. */
  readonly led: ReadonlySet<number>;
  /** Units that are being handed over → to whom. */
  readonly moving: ReadonlyMap<number, number>;
  /** Live ones, this one included. */
  readonly pservers: readonly SeenPserver[];
}

/** What must be known before anything is planned. */
export interface KnownView extends Pick<MovesView, 'me' | 'units' | 'pservers'> {
  /** Units that this pserver leads, as it knows itself. */
  readonly led: Pick<ReadonlySet<number>, 'has'>;
}

/**
 * Undefined while that cannot be said. Who leaves does not wait for what is unknown: it gives its units to those that
 * serve.
 */
export function dueMoves(view: MovesView): PlannedMove[] | undefined {
  const { me, isLeaving, led, moving, pservers } = view;
  if (!isLeaving && !isKnown(view)) return undefined;
  const units = view.units.map(({ unit, leader, bytes = 0 }) => {
    const now = moving.get(unit) ?? (led.has(unit) ? me : leader);
    return { unit, bytes, leader: now, last: now };
  });
  const planned = pservers.map(({ index, status }) => {
    return { index, leaving: index === me ? isLeaving : status !== 'up' };
  });
  const own = [...led].filter((unit) => !moving.has(unit));
  return movesOf(planUnits({ units, pservers: planned }), me, own);
}

/** Every unit has a leader and a size, and every pserver serves or leaves; what the store shows of this one is so. */
export function isKnown({ me, units, led, pservers }: KnownView): boolean {
  const areUnitsKnown = units.every(({ unit, leader, bytes }) => {
    if (bytes === undefined || leader === undefined) return false;
    return leader !== me || led.has(unit);
  });
  return areUnitsKnown && pservers.every(({ index, status }) => index === me || status !== 'unknown');
}

/** Whether there is a pserver that could take units. */
export const hasTaker = (me: number, pservers: readonly SeenPserver[]): boolean =>
  pservers.some(({ index, status }) => index !== me && status === 'up');
