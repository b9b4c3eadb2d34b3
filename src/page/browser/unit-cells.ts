/** The units of each pserver, as the picture shows them. Pure. */
import type { PageUnits } from '../page-data.ts';

export interface UnitCell {
  readonly unit: number;
  /** `orphan`: the pserver has a copy, but no live pserver is its primary. */
  readonly kind: 'led' | 'copy' | 'orphan';
  readonly title: string;
}

export interface UnitCells {
  /** By index of a pserver: those that it leads first. */
  readonly of: ReadonlyMap<number, readonly UnitCell[]>;
  /** Units that no pserver has. */
  readonly lost: readonly number[];
}

const RANK = { led: 0, orphan: 1, copy: 2 } as const;

export function unitCells({ list }: PageUnits): UnitCells {
  const of = new Map<number, UnitCell[]>();
  const lost: number[] = [];
  for (const entry of list) {
    const { unit, primary, inSync } = entry;
    const holders = new Set(primary === undefined ? inSync : [primary, ...inSync]);
    if (holders.size === 0) lost.push(unit);
    for (const holder of holders) {
      const kind = primary === undefined ? 'orphan' : holder === primary ? 'led' : 'copy';
      const cells = of.get(holder) ?? [];
      cells.push({ unit, kind, title: titleOf(entry) });
      of.set(holder, cells);
    }
  }
  for (const cells of of.values()) cells.sort((a, b) => RANK[a.kind] - RANK[b.kind] || a.unit - b.unit);
  return { of, lost };
}

function titleOf({ unit, primary, inSync, behind }: PageUnits['list'][number]): string {
  const led = primary === undefined ? 'without a primary' : `led by pserver ${primary}`;
  const others = inSync.filter((index) => index !== primary);
  const copies = others.length === 0 ? '' : `, copies in sync on ${others.join(', ')}`;
  return `unit ${unit}: ${led}${copies}${behind === 0 ? '' : `; the furthest copy is ${behind} updates behind`}`;
}

/** `leads 8 units, holds 4 copies` */
export function cellsText(cells: readonly UnitCell[]): string {
  const count = (kind: UnitCell['kind']): number => cells.filter((cell) => cell.kind === kind).length;
  const [led, copies, orphans] = [count('led'), count('copy'), count('orphan')];
  return [
    `${led} led`,
    ...(copies > 0 ? [`${copies} ${copies === 1 ? 'copy' : 'copies'}`] : []),
    ...(orphans > 0 ? [`${orphans} without primary`] : []),
  ].join(', ');
}
