/** Sync mode: a unit is led with the copy that is here, or, when all have gone back to a cut since, without it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Head, takenBy } from '../../../../src/cluster/placement/heads.ts';
import type { Replica } from '../../../../src/core/replicas/replica.ts';
import { CopiedUnits } from '../../../../src/roles/pserver/replicas/copied-units.ts';
import { Leading, type LeadingOptions } from '../../../../src/roles/pserver/replicas/leading.ts';
import { KnownHeads } from '../../../../src/roles/pserver/replicas/seen-heads.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import { OPTIMIZERS } from '../../../tensor/optimizers.ts';
import { LANES, PlayedPserver, ROUNDS } from '../modes/rounds/played.ts';

const UNIT = 1;
const ME = { index: 0, token: '7' };
const OTHER = { index: 1, token: '9' };
const [optimizer] = OPTIMIZERS;

const EMPTY = Array.from({ length: ROUNDS }, () =>
  Array.from({ length: LANES }, () => ({ records: 0, dense: [], sparse: [] })),
);

let one: PlayedPserver;
let copied: CopiedUnits;
let leading: Leading;
let timeline: number | undefined;
let told: string[];

const headOf = (primary: Head['primary']): Head => ({ ...takenBy(primary, undefined), inSync: [ME, OTHER] });

beforeEach(() => {
  [timeline, told] = [0, []];
  one = new PlayedPserver(optimizer!, EMPTY);
  const log = new MemoryLog();
  const owned = one.rig.shards;
  copied = new CopiedUnits({ log, owned, timeline: () => timeline });
  const known = new KnownHeads();
  known.learn({ unit: UNIT, head: headOf(ME), modRevision: 1n });
  leading = new Leading({
    context: { host: { log } } as unknown as LeadingOptions['context'],
    ...{ me: ME, owned, copied, known },
    machines: { of: () => ({ role: 'leading' }) as Replica<never> } as unknown as LeadingOptions['machines'],
    host: { stepped: () => {} },
    inboxes: { hasNone: () => {} },
    placed: { lost: () => {} },
    handOvers: { isBegun: () => true },
    copies: () => ({ releaseAll: () => {} }),
    rounds: {
      timeline: () => timeline,
      stateOf: (unit, shards) => one.rounds.stateOf(unit, shards),
      add: (unit, rounds) => one.rounds.add(unit, rounds),
      remove: (unit) => one.rounds.remove(unit),
      outdated: ({ unit }) => told.push(`unit ${unit} is outdated`),
    },
    onLed: ({ unit }) => told.push(`unit ${unit} is led`),
    onChanged: () => {},
    onFatal: (error) => told.push(String(error)),
  });
  one.pushMissing();
  leading.stepDown(UNIT);
});

describe('in sync mode', () => {
  it('a unit that is handed over stays as a copy, in its round', () => {
    expect(one.held).toEqual([0, 2, 3]);
    expect(copied.rounds(UNIT)).toMatchObject({ timeline: 0, version: 1 });
    expect(one.rounds.gates.groups().flatMap(({ units }) => units)).toEqual([0, 2, 3]);
  });

  it('is led with its copy where that is in the rounds', () => {
    leading.serve(UNIT);
    expect(told).toEqual(['unit 1 is led']);
    expect([one.held, copied.units()]).toEqual([[0, 1, 2, 3], []]);
    expect(one.rounds.stateOf(UNIT)).toMatchObject({ version: 1, previous: { dense: [], sparse: [] } });
  });

  it.each([undefined, 1])('a copy of another timeline than %s is freed, and its unit is to be loaded', (now) => {
    timeline = now;
    leading.serve(UNIT);
    leading.serve(UNIT);
    expect(told).toEqual(['unit 1 is outdated', 'unit 1 is led']);
    expect([one.held, copied.units()]).toEqual([[0, 2, 3], []]);
    expect(one.parameters.hasShard(UNIT)).toBe(false);
  });
});
