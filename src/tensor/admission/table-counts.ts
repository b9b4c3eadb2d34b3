/** What a table with admission, eviction or a bound has, and what updates have done with its ids. */

export interface IdCounts {
  rows: number;
  candidates: number;
}

/** `bytes`: logical, as a bound counts them. */
export interface TableUse extends Readonly<IdCounts> {
  readonly bytes: number;
}

export interface TableCounts {
  /** Ids that had a row. Like the next three, an id counts in each update that names it. */
  updated: number;
  /** Ids that got a row. */
  admitted: number;
  /** Ids that got no row, because of their count or their draw. */
  notAdmitted: number;
  /** Ids for whose row or candidate the bound had no room. */
  refused: number;
  readonly evicted: {
    /** By the bound. */
    readonly bound: IdCounts;
    /** By looks, because no update named them for too long. */
    readonly unseen: IdCounts;
  };
}

export const noTableCounts = (): TableCounts => ({
  updated: 0,
  admitted: 0,
  notAdmitted: 0,
  refused: 0,
  evicted: { bound: { rows: 0, candidates: 0 }, unseen: { rows: 0, candidates: 0 } },
});

export function addIds(to: IdCounts, { rows, candidates }: Readonly<IdCounts>): void {
  to.rows += rows;
  to.candidates += candidates;
}
