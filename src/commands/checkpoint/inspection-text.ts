/** An inspection for people. */
import { formatShards } from '../../checkpoint/file/coverage.ts';
import type { FileKind } from '../../checkpoint/file/format.ts';
import type { Inspection } from '../../checkpoint/set/inspect.ts';
import type { ValueStatistics } from '../../checkpoint/set/statistics.ts';
import { bytesText } from '../base/bytes-text.ts';
import type { MakeTable, TableColumn } from '../base/table.ts';
import type { About } from './about.ts';

export function ageText(seconds: number): string {
  if (seconds < 120) return `${Math.max(0, seconds).toFixed(0)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(0)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86_400).toFixed(1)} days`;
}

/** What the column `state` says of a file. `state`: empty if there is nothing to say. */
export const stateText = (kind: FileKind | undefined, state: string): string =>
  [kind === 'delta' ? 'delta' : '', state].filter((text) => text !== '').join(', ');

const right = (...heads: string[]): TableColumn[] => heads.map((head) => ({ head, align: 'right' }));
const left = (...heads: string[]): TableColumn[] => heads.map((head) => ({ head }));

export interface Shown {
  readonly inspection: Inspection;
  readonly about: About;
  readonly table: MakeTable;
  readonly nowSeconds: number;
}

export function inspectionText({ inspection, about, table, nowSeconds }: Shown): string {
  const { jobName, jobId, shards, digests } = inspection;
  const missing = shards.missing.length === 0 ? 'all present' : `missing ${formatShards(shards.missing)}`;
  const sections = [
    `job ${jobName} (${jobId}), ${shards.total} shards: ${missing}\n${aboutText(about)}`,
    filesText(inspection, table, nowSeconds),
    progressText(inspection),
    variablesText(inspection, table),
    candidatesText(inspection, table),
    ...topTexts(inspection, table),
  ];
  if (digests !== undefined) sections.push(`model ${digests.modelDigest}\nstate ${digests.stateDigest}`);
  return sections.filter((section) => section !== '').join('\n\n');
}

function aboutText(about: About): string {
  if ('complaint' in about) return `cannot predict without the job: ${about.complaint}`;
  const { model, format, columns } = about;
  const { type, saveDir: _, ...settings } = model;
  const set = Object.entries(settings).map(([name, value]) => ` ${name} ${value}`);
  return `model ${type}${set.join(',')}; data ${format}${columns === 0 ? '' : ` with ${columns} columns`}`;
}

function filesText({ files }: Inspection, table: MakeTable, nowSeconds: number): string {
  const columns = [...right('pserver'), ...left('file'), ...right('bytes', 'rows', 'shards', 'age'), ...left('state')];
  const rows = files.map((file) => [
    file.index,
    file.uuid,
    bytesText(file.bytes),
    file.rows,
    file.shards === file.shardsHere ? file.shards : `${file.shards} of ${file.shardsHere}`,
    ageText(nowSeconds - file.createdAt),
    stateText(file.kind, file.clean ? 'clean' : ''),
  ]);
  return table(columns, rows);
}

function progressText({ positions }: Inspection): string {
  const { progress, complaint, ledgers, seq } = positions;
  const updates = `updates per shard: ${seq[0] === seq[1] ? seq[0] : `${seq[0]} to ${seq[1]}`}; positions ${positions.digest}`;
  if (progress === undefined) return `progress unknown${complaint === undefined ? '' : `: ${complaint}`}\n${updates}`;
  const { passes, tasks, applied, discarded, open } = progress;
  const begun = open.map(({ pass, closed }) => `, pass ${pass + 1}: ${closed} of ${tasks} tasks`).join('');
  const lost = discarded === 0 ? '' : `, ${discarded} discarded`;
  const moments = ledgers > 1 ? `; shards are at ${ledgers} different positions` : '';
  return `${passes} passes complete${begun}; ${applied} records applied${lost}${moments}\n${updates}`;
}

const number = (value: number | undefined): string =>
  value === undefined ? '-' : String(Number(value.toPrecision(6)));

const statisticsCells = ({ min, max, mean, norm, nans, infinities }: ValueStatistics): (string | number)[] => [
  number(min),
  number(max),
  number(mean),
  number(norm),
  nans,
  infinities,
];

function variablesText({ tables, dense }: Inspection, table: MakeTable): string {
  const columns = [
    ...left('name', 'kind', 'shape', 'optimizer'),
    ...right('rows', 'bytes', 'min', 'max', 'mean', 'norm', 'NaN', 'Inf'),
    ...left('values', 'with state'),
  ];
  const rows = [
    ...dense.map((one) => [
      ...[one.name, 'dense', `[${one.shape.join(', ')}]`, one.optimizer.type, '', bytesText(one.bytes)],
      ...[...statisticsCells(one), one.valuesDigest, one.stateDigest],
    ]),
    ...tables.map((one) => [
      ...[one.name, 'sparse', `[n, ${one.width}]`, one.optimizer.type, one.rows, bytesText(one.bytes)],
      ...[...statisticsCells(one), one.valuesDigest, one.stateDigest],
    ]),
  ];
  return table(columns, rows);
}

function candidatesText({ tables }: Inspection, table: MakeTable): string {
  const rows = tables.flatMap(({ name, candidates }) =>
    candidates === undefined ? [] : [[name, candidates.count, bytesText(candidates.bytes)]],
  );
  return rows.length === 0 ? '' : table([...left('table'), ...right('candidates', 'bytes')], rows);
}

function topTexts({ tables }: Inspection, table: MakeTable): string[] {
  return tables
    .filter(({ top }) => top.length > 0)
    .map(({ name, top }) => {
      const rows = top.map(({ id, norm }) => [id, number(norm)]);
      return `rows of ${name} with the largest norms\n${table(right('id', 'norm'), rows)}`;
    });
}
