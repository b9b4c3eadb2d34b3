/** Parts of a run, and what was done in each: the difference of two looks. */
import { type Look, ROLES, type Role } from './looks.ts';

export const SPANS = ['all', 'first', 'later'] as const;
/** All that was trained, the first pass, or the passes after it; without start and end of the run. */
export type SpanName = (typeof SPANS)[number];

export interface Span {
  readonly recordsPerSecond: number;
  /** Share of the trainers' time, by phase. */
  readonly phases: ReadonlyMap<string, number>;
  readonly pserverPhases: ReadonlyMap<string, number>;
  /** Share of the trainers' time between two tasks. */
  readonly changeover: number;
  /** Mean of the processes of a role: cores that each used, and lacked. */
  readonly busy: Readonly<Record<Role, number>>;
  readonly lacked: Readonly<Record<Role, number>>;
  /** Microseconds of all processes of a role: other work on the machine changes it little. */
  readonly cpuPerRecord: Readonly<Record<Role, number>>;
  readonly sentPerRecord: number;
  readonly receivedPerRecord: number;
}

const FEWEST_LOOKS = 3;

/**
 * `records`: of a pass. Undefined where fewer than three looks fell into the span: then it was too short for them to
 * tell its speed.
 */
export function spanOf(looks: readonly Look[], name: SpanName, records: number, passes: number): Span | undefined {
  const above = name === 'later' ? records : 0;
  const below = name === 'first' ? records + 1 : records * passes;
  const within = looks.filter((look) => look.records > above && look.records < below);
  const from = within[0];
  const to = within.at(-1);
  if (from === undefined || to === undefined || within.length < FEWEST_LOOKS) return undefined;
  return difference(from, to);
}

function difference(from: Look, to: Look): Span {
  const seconds = (to.atMs - from.atMs) / 1000;
  const records = to.records - from.records;
  const trainers = spentIn(from.phases, to.phases);
  type Field = 'cpuSeconds' | 'lackedSeconds';
  const byRole = (value: (role: Role) => number): Record<Role, number> =>
    Object.fromEntries(ROLES.map((role) => [role, value(role)])) as Record<Role, number>;
  const used = (role: Role, field: Field): number => to.roles[role][field] - from.roles[role][field];
  const perProcess = (field: Field): Record<Role, number> =>
    byRole((role) => used(role, field) / seconds / Math.max(1, to.roles[role].processes));
  return {
    recordsPerSecond: records / seconds,
    phases: sharesOf(trainers),
    pserverPhases: sharesOf(spentIn(from.pserverPhases, to.pserverPhases)),
    changeover: (to.changeoverSeconds - from.changeoverSeconds) / Math.max(sumOf(trainers), 1e-9),
    busy: perProcess('cpuSeconds'),
    lacked: perProcess('lackedSeconds'),
    cpuPerRecord: byRole((role) => (1e6 * used(role, 'cpuSeconds')) / records),
    sentPerRecord: (to.sentBytes - from.sentBytes) / records,
    receivedPerRecord: (to.receivedBytes - from.receivedBytes) / records,
  };
}

type Seconds = ReadonlyMap<string, number>;

const spentIn = (from: Seconds, to: Seconds): Seconds =>
  new Map([...to].map(([phase, all]) => [phase, all - (from.get(phase) ?? 0)] as const));

const sumOf = (spent: Seconds): number => [...spent.values()].reduce((sum, one) => sum + one, 0);

function sharesOf(spent: Seconds): Map<string, number> {
  const total = Math.max(sumOf(spent), 1e-9);
  return new Map([...spent].map(([phase, one]) => [phase, one / total]));
}
