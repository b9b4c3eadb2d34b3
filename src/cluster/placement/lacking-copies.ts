/** Which units have fewer live copies than the job asks for, and what that means for it. */
import type { UnitPlace } from './unit-places.ts';

export interface CopiesWanted {
  readonly replicas: number;
  /** Minimum number of copies in sync; with fewer, updates wait. */
  readonly minInSync: number;
}

export interface LackingUnit {
  readonly unit: number;
  /** Live ones, that of its primary included. */
  readonly copies: number;
}

/** Ascending by unit. */
export const lackingCopies = (
  places: readonly Pick<UnitPlace, 'unit' | 'copies'>[],
  { replicas }: CopiesWanted,
): LackingUnit[] =>
  places.flatMap(({ unit, copies }) => (copies.length < replicas ? [{ unit, copies: copies.length }] : []));

const MOST_NAMED = 8;

/** Follows "waiting for"; undefined when no unit lacks a copy. */
export function lackingText(lacking: readonly LackingUnit[], { replicas, minInSync }: CopiesWanted) {
  if (lacking.length === 0) return undefined;
  const named = lacking.slice(0, MOST_NAMED).map(({ unit, copies }) => `${unit} has ${copies}`);
  const more = lacking.length > MOST_NAMED ? `, and ${lacking.length - MOST_NAMED} more` : '';
  const noun = lacking.length === 1 ? 'unit' : 'units';
  const pushes = lacking.some(({ copies }) => copies < minInSync) ? `; pushes wait, as minInSync is ${minInSync}` : '';
  return `${replicas} copies of ${lacking.length} ${noun} (unit ${named.join(', ')}${more})${pushes}`;
}
