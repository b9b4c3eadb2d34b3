/**
 * Decides which of its units a pserver should hand over now, and to which pserver. It follows the plan (plan.ts) as
 * soon as all inputs of the plan are known. Each pserver does this for the units that it leads.
 */
import { movesOf, type PlannedMove, planUnits } from './plan.ts';

export interface SeenUnit {
  readonly unit: number;
  /** Index of its live primary, according to the store. */
  readonly leader: number | undefined;
  /** Size; undefined until a record contains it. */
  readonly bytes: number | undefined;
}

export interface SeenPserver {
  readonly index: number;
  /**
   * `unknown`: it does not serve yet, and the plan waits for it. `late`: it has not served for too long, so the plan
   * neither waits for it nor gives it units.
   */
  readonly status: 'up' | 'leaving' | 'unknown' | 'late';
}

export interface MovesView {
  /** Index of this pserver. */
  readonly me: number;
  readonly isLeaving: boolean;
  /** All units of the job. */
  readonly units: readonly SeenUnit[];
  /** Units that this pserver leads, by its own state. */
  readonly led: ReadonlySet<number>;
  /** Units that are being handed over → index of the target. */
  readonly moving: ReadonlyMap<number, number>;
  /** Live pservers, including this one. */
  readonly pservers: readonly SeenPserver[];
}

/** The inputs that must be known before planning. */
export interface KnownView extends Pick<MovesView, 'me' | 'units' | 'pservers'> {
  /** Units that this pserver leads, by its own state. */
  readonly led: Pick<ReadonlySet<number>, 'has'>;
}

/**
 * Undefined while an input of the plan is unknown. A pserver that leaves does not wait for unknown inputs: it hands its
 * units over to the pservers that serve.
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

/**
 * Whether every unit has a known primary and size, and no other pserver is `unknown`. If the store names this pserver
 * as the primary of a unit, it must lead that unit by its own state, too.
 */
export function isKnown({ me, units, led, pservers }: KnownView): boolean {
  const areUnitsKnown = units.every(({ unit, leader, bytes }) => {
    if (bytes === undefined || leader === undefined) return false;
    return leader !== me || led.has(unit);
  });
  return areUnitsKnown && pservers.every(({ index, status }) => index === me || status !== 'unknown');
}

/** Whether another pserver could take units. */
export const hasTaker = (me: number, pservers: readonly SeenPserver[]): boolean =>
  pservers.some(({ index, status }) => index !== me && status === 'up');
