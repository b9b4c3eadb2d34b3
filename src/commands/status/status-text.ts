/** The status of a job for people. */

import { counted } from '../../base/counted.ts';
import { visible } from '../../base/visible.ts';
import type { KeptModel, KeptModels } from '../../cluster/job/job-result.ts';
import { shellCommand } from '../../cluster/job/start-command.ts';
import { shortId } from '../../cluster/trainer-entry.ts';
import { isoTime } from '../../host/clock.ts';
import type { BuildsOn, LiveProcess } from '../../view/describe-job.ts';
import { silenceText, type Waiting, waitingText } from '../../view/health.ts';
import type { DirectingInfo, RoleInfo } from '../../view/info.ts';
import type { JobView, ProcessView } from '../../view/job-view.ts';
import type { CauseKind } from '../../view/why/cause.ts';
import { cut, durationText, wrapped } from '../base/fit.ts';
import { type Listed, listedText } from '../base/listed-bad-records.ts';
import { pointText, resultText } from '../base/result-text.ts';
import type { MakeTable } from '../base/table.ts';
import { copiesLine, copiesTable } from './copies-text.ts';
import { errorsText } from './errors-text.ts';
import { limitedTablesTable } from './limited-tables.ts';
import { roundsText } from './status-text-rounds.ts';
import { timesText } from './times-text.ts';

export interface TextOptions {
  readonly table: MakeTable;
  /** Shows everything that is known about where processes are. */
  readonly isWide: boolean;
  /** Columns of the terminal: longer lines wrap, rows of tables are cut. */
  readonly columns?: number | undefined;
}

/** More causes are left to `paddlet why`. */
const MOST_CAUSES = 3;

/** `listed`: where bad records are listed. `wallSeconds`: now, in seconds since 1970. */
export function statusText(view: JobView, listed: Listed, wallSeconds: number, options: TextOptions): string {
  const { columns = Number.POSITIVE_INFINITY } = options;
  const { record, end, result, health, here, live } = view;
  if (result !== undefined) return resultText({ ...result, ...listed }, record.job.training.classWeights);
  // Ids, addresses and reasons that processes wrote: none of them can start a new line.
  const head = [...progressText(view, wallSeconds), ...listedText(listed), ...clusterText(view)];
  const lines = head.map((line) => wrapped(visible(line), columns));
  // A command is copied: it stays in one piece.
  if (end === undefined && health.status === 'UNKNOWN' && here?.kind !== 'run')
    lines.push(...resumeText(view).map(visible));
  if (live.length === 0) return [...lines, 'no live processes'].join('\n');
  const tables = tablesText(view, options).flatMap((one) => ['', ...one.split('\n').map((line) => cut(line, columns))]);
  return [...lines, ...tables, ...errorsText(live, wallSeconds, columns)].join('\n');
}

/** What the job does, how far it is, how fast and how good. */
function progressText(view: JobView, wallSeconds: number): string[] {
  const { record, end, master, kept, phase } = view;
  const lines = [`job ${record.job.name}: ${phase}`];
  if (end !== undefined && 'failure' in end) lines.push(...`${end.failure.code}: ${end.failure.message}`.split('\n'));
  if (master === undefined) return [...lines, ...storedText(view, wallSeconds)];
  const shown = view.why.slice(0, MOST_CAUSES);
  lines.push(...(master.mode === 'sync' ? roundsText(master, shown) : tasksText(master, shown)), ...paceText(view));
  if (kept !== undefined) lines.push(keptText(kept));
  if (isSaveRefused(view)) lines.push(...checkpointText(view.checkpoints, wallSeconds));
  return lines;
}

/** How the cluster is, and what holds the job up: each trouble once. */
function clusterText(view: JobView): string[] {
  const { record, end, processes, live, written, health, copies, notes } = view;
  const lines = end === undefined ? healthText(view) : [`cluster: ${health.status}${afterComma(view.reason)}`];
  if (health.status === 'UNKNOWN' && processes.length > 0 && written !== undefined) {
    lines.push(`the last master wrote ${written.cluster_status}, but it does not answer`);
  }
  if (end === undefined && live.length > 0) lines.push(...spreadText(view), ...timesText(live));
  if (copies !== undefined && live.length > 0) lines.push(copiesLine(copies, record.job.cluster.replicas));
  const [note] = notes;
  if (note !== undefined) lines.push(`note: ${note.sentence}`);
  return lines;
}

function healthText({ health, reason, why, record }: JobView): string[] {
  // When no process answers, the reason is all that is known.
  if (health.status === 'UNKNOWN') return [`cluster: ${health.status}${afterComma(reason)}`];
  const shown = why.slice(0, MOST_CAUSES);
  const unexplained = health.waitingFor.filter(
    ({ kind }) => !shown.some((cause) => CAUSES_OF[kind].includes(cause.kind)),
  );
  const waits = unexplained.length === 0 ? '' : `, waiting for ${unexplained.map(waitingText).join('; ')}`;
  const [cause, ...others] = shown;
  const left = why.length - shown.length;
  return [
    `cluster: ${health.status}${waits}`,
    ...(cause === undefined ? [] : [`why: ${cause.sentence}`]),
    ...(cause?.hint === undefined ? [] : [`  ${cause.hint}`]),
    ...others.map(({ sentence }) => `and: ${sentence}`),
    ...(left > 0 ? [`and ${counted(left, 'more cause')}: see \`paddlet why ${record.job.name}\``] : []),
  ];
}

/** The causes that say the same as a wait of this kind. */
const CAUSES_OF: Readonly<Record<Waiting['kind'], readonly CauseKind[]>> = {
  store: ['store', 'lease'],
  checkpointFolder: ['checkpointFolder'],
  pserver: ['network'],
  lease: ['pserver', 'master', 'trainer'],
  master: ['master', 'waiting', 'hook'],
  pservers: ['pservers', 'waiting'],
  trainers: ['trainers'],
  copies: ['copies'],
};

const afterComma = (text: string): string => (text === '' ? '' : `, ${text}`);

function tablesText(view: JobView, options: TextOptions): string[] {
  const { table, isWide, columns = Number.POSITIVE_INFINITY } = options;
  const { replicas } = view.record.job.cluster;
  const heads = ['role', 'id', 'pid', 'address', ...(isWide ? WIDE : []), 'activity'];
  const isNarrow = columns < NARROW_COLUMNS;
  const shownOf = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => !isNarrow || heads[at] !== 'address');
  const rows = view.live.map((process) => shownOf(processCells(process, view, isWide)));
  const ofUnits = view.copies && copiesTable(view.copies, { table, isWide, replicas });
  const limited = view.end === undefined ? view.tables : undefined;
  return [
    table(shownOf(heads.map((head) => ({ head }))), rows),
    ...(limited === undefined ? [] : [limitedTablesTable(limited, table, columns)]),
    ...(ofUnits === undefined ? [] : [ofUnits]),
  ];
}

function paceText({ progress: { recordsPerSecond, loss, secondsLeft } }: JobView): string[] {
  const parts = [
    ...(recordsPerSecond === undefined ? [] : [`${recordsPerSecond} records/s`]),
    ...(loss === undefined ? [] : [`mean loss ${loss.toFixed(4)}`]),
    ...(secondsLeft === undefined ? [] : [`${durationText(secondsLeft)} left`]),
  ];
  return parts.length === 0 ? [] : [`pace: ${parts.join(', ')}`];
}

/** What evaluations came to so far. */
function keptText({ metric, best, last }: KeptModels): string {
  const shown = (model: KeptModel): string =>
    `${model.metrics[metric]?.toFixed(5) ?? 'none'} after ${pointText(model)}`;
  return `${metric}: ${shown(last)}; best ${best === undefined ? 'none' : shown(best)}`;
}

const WIDE = ['host', 'label', 'zone', 'lease'];
/** Narrower tables have no addresses. */
const NARROW_COLUMNS = 64;

/** Lines about the units, shown while pservers come or go. */
function spreadText({ spread, wanted }: JobView): string[] {
  const { pservers, toMove, units, missing } = spread;
  const leaving = pservers.filter(({ isLeaving }) => isLeaving).map(({ index }) => index);
  if (toMove === 0 && leaving.length === 0 && missing.length === 0) return [];
  const moves = toMove === 0 ? [] : [`${toMove} of ${units} units are to move`];
  const leaves = leaving.length === 0 ? [] : [`pserver ${leaving.join(', ')} to leave`];
  return [[`pservers: ${wanted.pservers} wanted, ${pservers.length} running`, ...moves, ...leaves].join('; ')];
}

/** How far the job is that no master directs, and its newest checkpoints. */
function storedText({ stored, checkpoints, record }: JobView, wallSeconds: number): string[] {
  const { passes } = record.job.training;
  const lines: string[] = [];
  if (stored !== undefined) {
    const at = `pass ${Math.min(stored.pass + 1, passes)} of ${passes}`;
    if (stored.mode === 'sync') {
      lines.push(`${at}, round ${stored.round} of ${stored.total}`, `records: ${stored.records} in these rounds`);
    } else {
      const { total, done, discarded } = stored.tasks;
      const { read, bad, duplicate } = stored.records;
      lines.push(
        `${at}; tasks of all passes: ${done} of ${total} done, ${discarded} discarded`,
        `records: ${read} read, ${bad} bad, ${duplicate} duplicate, of finished tasks`,
      );
    }
  }
  return [...lines, ...checkpointText(checkpoints, wallSeconds)];
}

/** A pserver waits for a folder that takes no checkpoint: what a crash would cost grows. */
const isSaveRefused = ({ health }: JobView): boolean =>
  health.waitingFor.some(({ kind }) => kind === 'checkpointFolder');

function checkpointText(checkpoints: JobView['checkpoints'], wallSeconds: number): string[] {
  const files = checkpoints.flatMap((one) => ('error' in one ? [] : [one]));
  const wrong = checkpoints.flatMap((one) => ('error' in one ? [one.error] : []));
  if (files.length === 0) return ['newest checkpoint: none', ...wrong];
  const megabytes = (files.reduce((sum, { bytes = 0 }) => sum + bytes, 0) / 1e6).toFixed(1);
  const oldest = Math.min(...files.map(({ timestamp }) => timestamp));
  const saved = `${isoTime(oldest).slice(0, 19)}Z, ${Math.max(0, Math.round(wallSeconds - oldest))} s ago`;
  const which = files.map(({ index, uuid }) => `pserver ${index}: ${uuid}`).join(', ');
  const chains = files.flatMap(({ buildsOn }) => buildsOn ?? []);
  return [`newest checkpoint: ${saved}, ${megabytes} MB (${which})`, ...chainText(chains), ...wrong];
}

function chainText(chains: readonly BuildsOn[]): string[] {
  if (chains.length === 0) return [];
  const files = chains.reduce((sum, one) => sum + one.files, 0);
  const megabytes = (chains.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6).toFixed(1);
  return [`deltas, which build on ${files} files of ${megabytes} MB`];
}

function resumeText({ command }: JobView): string[] {
  if (command === undefined) return [];
  return [`to resume it, on ${command.host}:`, `  cd ${shellCommand([command.folder])} && ${command.command}`];
}

type AsyncInfo = Extract<DirectingInfo, { mode: 'async' }>;

function tasksText(master: AsyncInfo, why: JobView['why']): string[] {
  const { pass, total, todo, pending, done, discarded } = master.tasks;
  const counts = `${todo} todo, ${pending} pending, ${done} done, ${discarded} discarded`;
  const { read, bad, duplicate } = master.sums;
  return [
    `pass ${Math.min(pass + 1, master.passes)} of ${master.passes}, ${total} tasks: ${counts}`,
    `records: ${read} read, ${bad} bad, ${duplicate} duplicate`,
    ...repairsText(master),
    ...(todo > 0 && pending === 0 && why.length === 0 ? [`waiting: ${master.waitReason}`] : []),
  ];
}

function repairsText({ discarded, recovery }: AsyncInfo): string[] {
  const lines = discarded.map(
    ({ task, pass, where, code, error }) => `discarded in pass ${pass + 1}: task ${task} (${where}): ${code}: ${error}`,
  );
  if (recovery.reconciled === recovery.number) return lines;
  const replayed = `recovery ${recovery.number}: replaying ${recovery.repairing} tasks because a pserver was restored`;
  return [replayed, ...lines];
}

function processCells(process: ProcessView, { record }: JobView, isWide: boolean): string[] {
  const { role, id, address, lease, answer, share } = process;
  const pid = answer.kind === 'info' ? String(answer.info.pid) : '';
  const { hostLabel = '', zone = '' } = share?.labels ?? {};
  const place = isWide ? [answer.kind === 'info' ? answer.info.host : '', hostLabel, zone, lease] : [];
  const copies = share === undefined || record.job.cluster.replicas === 1 ? '' : `, ${share.copies} copies`;
  const leaving = share?.isLeaving === true ? ', leaving' : '';
  const name = role === 'master' ? '' : role === 'trainer' && !isWide ? shortId(id) : id;
  return [role, name, pid, address, ...place, `${activityOf(answer, isWide)}${copies}${leaving}`];
}

/** What a process does, in a few words. */
export function activityOf(answer: LiveProcess['answer'], isWide: boolean): string {
  if (answer.kind === 'none') return silenceText(answer);
  if (answer.kind === 'notUnderstood') return answer.error.message;
  const { info } = answer;
  return info.state === 'waiting' ? `waiting for ${info.waitingFor}` : workText(info, isWide);
}

function workText(info: Extract<RoleInfo, { state: 'working' }>, isWide: boolean): string {
  switch (info.role) {
    case 'master':
      return info.phase;
    case 'pserver': {
      const position = info.mode === 'sync' ? `round ${info.round}` : `${info.updates} updates`;
      const megabytes = `${(info.bytes / 1e6).toFixed(1)} MB`;
      if (!isWide) return `${info.units} units, ${position}, ${megabytes}`;
      return `${info.units} units, ${info.shards} shards, ${info.rows} rows, ${megabytes}, ${position}`;
    }
    case 'trainer': {
      const loss = info.loss === undefined ? '' : `, loss ${info.loss.toFixed(4)}`;
      return `${info.phase}, ${info.records} records${loss}`;
    }
  }
}
