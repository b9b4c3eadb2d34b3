/** The copies of units, for people. */
import { counted } from '../../base/counted.ts';
import type { UnitCopiesStatus } from '../../cluster/client/describe-copies.ts';
import type { MakeTable } from '../base/table.ts';

/** Maximum number of units that are shown without `isWide`, of those about which there is something to report. */
const MOST_SHOWN = 12;

export interface CopiesTextOptions {
  readonly table: MakeTable;
  readonly isWide: boolean;
  /** Number of copies that the job asks for. */
  readonly replicas: number;
}

/** A line about all units, for the head of the status. */
export function copiesLine(units: readonly UnitCopiesStatus[], replicas: number): string {
  const inSync = units.reduce((sum, unit) => sum + unit.inSync.length, 0);
  const made = units.flatMap(({ told }) => told?.copies ?? []).filter(({ state }) => state !== 'inSync').length;
  const lags = units.flatMap(({ unit, told }) =>
    (told?.copies ?? []).flatMap(({ index, behind = 0 }) => ({ unit, index, behind })),
  );
  const last = lags.reduce((most, one) => (one.behind > most.behind ? one : most), { unit: 0, index: 0, behind: 0 });
  const parts = [`copies: ${inSync} of ${units.length * replicas} in sync`];
  if (made > 0) parts.push(`${made} being made`);
  if (last.behind > 0)
    parts.push(`furthest behind: unit ${last.unit} on pserver ${last.index}, ${updates(last.behind)}`);
  return parts.join('; ');
}

/** Narrow, however many copies there are. Undefined when there is nothing to say. */
export function copiesTable(
  units: readonly UnitCopiesStatus[],
  { table, isWide, replicas }: CopiesTextOptions,
): string | undefined {
  const meant = isWide ? units : units.filter((unit) => isNoted(unit, replicas));
  if (meant.length === 0) return undefined;
  const shown = isWide ? meant : meant.slice(0, MOST_SHOWN);
  const columns = [
    ...[
      { head: 'unit', align: 'right' as const },
      { head: 'primary', align: 'right' as const },
    ],
    ...[{ head: 'position', align: 'right' as const }, { head: 'other copies' }],
  ];
  const rows = shown.map((unit) => [
    ...[String(unit.unit), unit.primary === undefined ? 'none' : String(unit.primary)],
    ...[unit.told === undefined ? '' : String(unit.told.committed), othersText(unit)],
  ]);
  const left = meant.length - shown.length;
  const more = left === 0 ? [] : [`and ${left} more units: see --wide`];
  return [table(columns, rows), ...more].join('\n');
}

const isNoted = ({ inSync, told }: UnitCopiesStatus, replicas: number): boolean =>
  inSync.length < replicas || told?.copies.some(({ state }) => state !== 'inSync') === true;

function othersText({ primary, inSync, told }: UnitCopiesStatus): string {
  const known = told?.copies ?? [];
  const others = inSync.filter((index) => index !== primary && !known.some((copy) => copy.index === index));
  const texts = known.map(({ index, state, behind = 0 }) => {
    const notes = [...(state === 'inSync' ? [] : [state]), ...(behind === 0 ? [] : [`${updates(behind)} behind`])];
    return notes.length === 0 ? String(index) : `${index} (${notes.join(', ')})`;
  });
  const all = [...others.map(String), ...texts];
  return all.length === 0 ? 'none' : all.join(', ');
}

const updates = (count: number): string => counted(count, 'update');
