/** Heads of units that a pserver owns, for tests in which none of them changes. */
import { takenBy } from '../../../../src/cluster/placement/heads.ts';
import { OwnedHeads } from '../../../../src/roles/pserver/held/owned-heads.ts';

const ME = { index: 0, token: '7' };

export interface HeadShape {
  readonly unit: number;
  readonly epoch: number;
  readonly led: number;
}

export const ownedHeads = (heads: readonly HeadShape[]): OwnedHeads =>
  new OwnedHeads(
    { context: undefined as never, fence: { key: 'ps/0', token: 7n } },
    heads.map(({ unit, epoch, led }) => ({ unit, head: { ...takenBy(ME, undefined), epoch, led }, modRevision: 1n })),
  );

/** Each unit since its first epoch. */
export const firstHeads = (units: readonly number[]): OwnedHeads =>
  ownedHeads(units.map((unit) => ({ unit, epoch: 1, led: 1 })));
