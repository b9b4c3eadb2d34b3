/** What a plan of copies promises, for any cluster. */

import { describe, expect, it } from 'vitest';
import { planUnits } from '../../../src/core/units/plan.ts';
import { type CopyPserver, planCopies } from '../../../src/core/units/plan-copies.ts';
import * as fc from '../../properties.ts';
import {
  anyInput,
  carriedOut,
  entriesOf,
  live,
  MiB,
  membersOf,
  placed,
  pservers,
  replicas,
  stayingOf,
  unitsOf,
  weightsOf,
} from './copy-clusters.ts';

describe('a plan of copies', () => {
  it('depends on nothing but its input, in any order', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const units = [...input.units].reverse().map((one) => ({ ...one, inSync: [...one.inSync].reverse() }));
        const turned = { ...input, units, pservers: [...input.pservers].reverse() };
        expect(entriesOf(planCopies(turned))).toEqual(entriesOf(planCopies(input)));
      }),
    );
  });

  it('gives each unit as many copies as are wanted, or as pservers stay, each on another one', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planCopies(input);
        const staying = stayingOf(input).map((one) => one.index);
        expect(plan.size).toBe(input.units.length);
        for (const unit of plan.keys()) {
          const members = membersOf(plan, unit);
          expect(new Set(members).size).toBe(Math.min(input.replicas, staying.length));
          expect(members).toHaveLength(new Set(members).size);
          for (const member of members) expect(staying).toContain(member);
        }
      }),
    );
  });

  it('gives no pserver anything when all leave', () => {
    const units = placed(3, (owner) => [(owner + 1) % 3]);
    const all = live(3).map((one) => ({ ...one, leaving: true }));
    expect(planCopies({ units, pservers: all, replicas: 2 }).size).toBe(0);
  });

  it('is the plan of primaries when one copy is wanted, whatever copies there are', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planCopies({ ...input, replicas: 1 });
        const units = input.units.map(({ unit, bytes, leader, last }) => ({ unit, bytes, leader, last }));
        const expected = planUnits({ units, pservers: input.pservers });
        expect([...plan]).toEqual([...expected].map(([unit, primary]) => [unit, { primary, backups: [] }]));
      }),
    );
  });

  it('puts copies on as many hosts, and in as many zones, as there are', () => {
    // Each host is in the zone that its first pserver tells; what tells nothing is apart.
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planCopies(input);
        const staying = [...stayingOf(input)].sort((a, b) => a.index - b.index);
        const hostOf = (one: CopyPserver): string => (one.host === undefined ? `only ${one.index}` : one.host);
        const zoneOf = (one: CopyPserver): string => {
          const told = staying.find((other) => hostOf(other) === hostOf(one) && other.zone !== undefined);
          return told === undefined ? `of ${hostOf(one)}` : told.zone!;
        };
        for (const placeOf of [hostOf, zoneOf]) {
          const places = new Map(staying.map((one) => [one.index, placeOf(one)]));
          const most = Math.min(input.replicas, new Set(places.values()).size);
          for (const unit of plan.keys()) {
            expect(new Set(membersOf(plan, unit).map((one) => places.get(one))).size).toBe(most);
          }
        }
      }),
    );
  });

  it('gives all units of a pserver the same peers', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const peers = new Map<number, readonly number[]>();
        for (const { primary, backups } of planCopies(input).values()) {
          expect(backups).toEqual(peers.get(primary) ?? backups);
          peers.set(primary, backups);
        }
      }),
    );
  });

  it('is stable: once it is carried out, there is nothing to do', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planCopies(input);
        expect(entriesOf(planCopies(carriedOut(input, plan)))).toEqual(entriesOf(plan));
      }),
    );
  });

  it('evens out bytes of primaries within 10 % when no unit is large', () => {
    const input = fc.record({
      units: unitsOf(fc.integer({ min: 4 * MiB, max: 5 * MiB }), 64),
      pservers: pservers.map((all) => all.map((one, at) => ({ ...one, leaving: at > 2 || one.leaving }))),
      replicas,
    });
    fc.assert(
      fc.property(input, (one) => {
        const { primaries } = weightsOf(one, planCopies(one));
        expect(Math.max(...primaries)).toBeLessThanOrEqual(1.1 * Math.min(...primaries));
      }),
    );
  });
});
