/** The plan and the outcome of a restore, for people. */
import type { Restored, RestorePlan } from '../../checkpoint/restore/restore.ts';
import { bytesText } from '../base/bytes-text.ts';
import type { MakeTable } from '../base/table.ts';

export interface PlannedRestore {
  readonly plan: RestorePlan;
  /** Files read. */
  readonly sources: number;
  readonly folder: string;
}

export function planText({ plan, sources, folder }: PlannedRestore, table: MakeTable): string {
  const { files, variables, leftOut, bytes } = plan;
  const columns = ['pserver', 'shards', 'rows'].map((head) => ({ head, align: 'right' as const }));
  const rows = files.map(({ index, shards, rows }) => [index, shards, rows]);
  const names = [...variables.dense, ...variables.sparse].join(', ');
  const lines = [`${sources} files, ${bytesText(bytes)} → ${folder}`, `variables: ${names}`];
  if (leftOut.length > 0) lines.push(`left out: ${leftOut.join(', ')}`);
  return [...lines, table(columns, rows)].join('\n');
}

/** `publishedIn`: URL of the store whose job has the new files now. */
export function restoredText(
  { proof, paths, generations }: Restored,
  publishedIn: string | undefined,
  table: MakeTable,
): string {
  const columns = [
    { head: 'name' },
    { head: 'rows', align: 'right' },
    { head: 'values' },
    { head: 'with state' },
  ] as const;
  const rows = proof.variables.map((one) => [
    one.kind === 'candidates' ? `${one.name}, candidates` : one.name,
    one.rows,
    one.valuesDigest,
    one.stateDigest,
  ]);
  const proven = `${table(columns, rows)}\n${proof.shards} shards, positions ${proof.positionsDigest}`;
  const files = paths.map((path, at) => `${path}  ${bytesText(generations[at]?.bytes ?? 0)}`).join('\n');
  const outcome =
    publishedIn === undefined
      ? 'not published'
      : `published in ${publishedIn}; the job resumes with cluster.pservers = ${paths.length}`;
  return `\nequal before and after:\n${proven}\n\n${files}\n${outcome}`;
}
