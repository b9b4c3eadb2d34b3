/** Clusters for plans of copies, and what is measured of a plan. */

import type { CopiedUnit, CopiesInput, CopyPlan, CopyPserver } from '../../../src/core/units/plan-copies.ts';
import * as fc from '../../properties.ts';

export const MiB = 2 ** 20;
export const INDEXES = 9;
export const index = fc.nat(INDEXES - 1);
export const replicas = fc.integer({ min: 1, max: 5 });
export const nameIn = (places: number) =>
  fc.option(
    fc.nat(places - 1).map((one) => `${one}`),
    { nil: undefined },
  );

/** At least one stays. */
export const pservers: fc.Arbitrary<CopyPserver[]> = fc
  .uniqueArray(fc.record({ index, leaving: fc.boolean(), host: nameIn(5), zone: nameIn(3) }), {
    selector: (one) => one.index,
    minLength: 1,
    maxLength: INDEXES,
    size: 'max',
  })
  .map((all) => all.map((one, at) => ({ ...one, leaving: at > 1 && one.leaving })));

/** Heads as they may be found: of dead primaries, of any members. */
export const unitsOf = (bytes: fc.Arbitrary<number>, minLength = 0): fc.Arbitrary<CopiedUnit[]> =>
  fc
    .array(
      fc.record({
        bytes,
        leader: fc.option(index, { nil: undefined }),
        last: fc.option(index, { nil: undefined }),
        others: fc.uniqueArray(index, { maxLength: 4 }),
      }),
      { minLength, maxLength: 64, size: 'max' },
    )
    .map((all) =>
      all.map(({ others, ...one }, unit) => {
        const inSync = one.leader === undefined ? [] : [...new Set([one.leader, ...others])];
        return { ...one, unit, inSync };
      }),
    );

export const anyInput: fc.Arbitrary<CopiesInput> = fc.record({ units: unitsOf(fc.nat(64 * MiB)), pservers, replicas });

export const stayingOf = ({ pservers: all }: Pick<CopiesInput, 'pservers'>): CopyPserver[] =>
  all.filter(({ leaving }) => !leaving);

export const membersOf = (plan: CopyPlan, unit: number): number[] => {
  const { primary, backups } = plan.get(unit)!;
  return [primary, ...backups];
};

export const carriedOut = (input: CopiesInput, plan: CopyPlan): CopiesInput => ({
  ...input,
  units: input.units.map((one) => {
    const inSync = membersOf(plan, one.unit);
    return { ...one, leader: inSync[0], last: undefined, inSync };
  }),
});

export const entriesOf = (plan: CopyPlan) => [...plan].sort(([a], [b]) => a - b);
export const stays = (one: number, host?: string, zone?: string): CopyPserver => {
  return { index: one, leaving: false, host, zone };
};
export const live = (count: number): CopyPserver[] => Array.from({ length: count }, (_, at) => stays(at));

/** 12 units of each pserver, of `MiB`, with the peers that `peersOf` says. */
export const placed = (count: number, peersOf: (owner: number) => number[]): CopiedUnit[] =>
  Array.from({ length: 12 * count }, (_, unit) => {
    const leader = unit % count;
    return { unit, bytes: MiB, leader, last: undefined, inSync: [leader, ...peersOf(leader)] };
  });

export const weightOf = (bytes: number): number => bytes + 65_536;

/** Index → weight, of the primaries and of all copies, of those that stay. */
export function weightsOf(input: CopiesInput, plan: CopyPlan) {
  const primaries = new Map(stayingOf(input).map((one) => [one.index, 0]));
  const copies = new Map(primaries);
  const add = (to: Map<number, number>, at: number, weight: number) => to.set(at, to.get(at)! + weight);
  for (const { unit, bytes } of input.units) {
    add(primaries, plan.get(unit)!.primary, weightOf(bytes));
    for (const at of membersOf(plan, unit)) add(copies, at, weightOf(bytes));
  }
  return { primaries: [...primaries.values()], copies: [...copies.values()] };
}

/** Index → of how many pservers that lead a unit it is a peer. */
export function usesOf(input: CopiesInput, plan: CopyPlan): Map<number, number> {
  const peers = new Map([...plan.values()].map(({ primary, backups }) => [primary, backups]));
  const count = (at: number): number => [...peers.values()].filter((backups) => backups.includes(at)).length;
  return new Map(stayingOf(input).map((one) => [one.index, count(one.index)]));
}
