/** The tables of a job that have admission, eviction or a bound, over all pservers. Pure. */
import type { Job } from '../job/schema.ts';
import { summedTables, type TableReport } from '../protocol/messages/table-report.ts';
import type { JobStatus } from './describe-job.ts';
import type { PserverInfo } from './info.ts';

type ServingPserver = Extract<PserverInfo, { state: 'working' }>;

/** The pservers that lead units; undefined unless all shards are among those that answered. */
export function allServing({
  record,
  processes,
}: Pick<JobStatus, 'record' | 'processes'>): readonly ServingPserver[] | undefined {
  const working = processes.flatMap(({ answer }) =>
    answer.kind === 'info' && answer.info.role === 'pserver' && answer.info.state === 'working' && answer.info.units > 0
      ? [answer.info]
      : [],
  );
  const shards = working.reduce((sum, one) => sum + one.shards, 0);
  return shards === record.job.cluster.shards ? working : undefined;
}

/** Over all pservers; undefined if a pserver does not answer, or no table has rules. */
export function limitedTables(status: Pick<JobStatus, 'record' | 'processes'>): readonly TableReport[] | undefined {
  const tables = summedTables((allServing(status) ?? []).map((info) => info.tables ?? []));
  return tables.length === 0 ? undefined : tables;
}

/** A bound evicts down to nine tenths, and shards are not equally full. */
const FULL_SHARE = 0.8;
/** A note is due if at least this share of the rows that updates needed was new. */
const MANY_NEW = 0.25;

export interface TableNote {
  readonly table: string;
  readonly sentence: string;
  readonly hint: string;
}

/**
 * Notes about tables that are too small: the bound has evicted more rows than the table has, and at least every fourth
 * row that updates needed was new. They hold nothing up. Tables that have evicted the most rows come first.
 */
export function tableNotes(status: Pick<JobStatus, 'record' | 'processes'>): TableNote[] {
  const tables = (limitedTables(status) ?? []).filter(isTooSmall);
  tables.sort((a, b) => b.evicted.bound.rows - a.evicted.bound.rows);
  return tables.map(({ name, updated, admitted, evicted }) => {
    const percent = Math.round((100 * admitted) / (updated + admitted));
    return {
      table: name,
      sentence:
        `Table ${name} is at its bound: it has evicted ${evicted.bound.rows} rows, ` +
        `and ${percent} % of the rows that updates needed were new or evicted.`,
      hint: hintFor(name, status.record.job.tables[name]?.admission),
    };
  });
}

function hintFor(table: string, admission: Job['tables'][string]['admission']): string {
  const raise = `raise tables.${table}.maxBytes`;
  if (admission === undefined) return `${raise}, or add tables.${table}.admission`;
  return admission.type === 'count'
    ? `${raise} or tables.${table}.admission.min`
    : `${raise}, or lower tables.${table}.admission.p`;
}

const isTooSmall = ({ rows, bytes, boundBytes, updated, admitted, evicted }: TableReport): boolean =>
  boundBytes !== undefined &&
  bytes >= FULL_SHARE * boundBytes &&
  evicted.bound.rows > rows &&
  admitted >= MANY_NEW * (updated + admitted);
