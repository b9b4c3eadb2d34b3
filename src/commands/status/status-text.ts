/** The status of a job for people. */
import { visible } from '../../base/visible.ts';
import type { DirectingInfo, RoleInfo } from '../../cluster/info.ts';
import { type BuildsOn, directingInfo, type JobStatus, type LiveProcess } from '../../cluster/job/describe-job.ts';
import { silenceText } from '../../cluster/job/health.ts';
import type { KeptModel, KeptModels } from '../../cluster/job/job-result.ts';
import { limitedTables, tableNotes } from '../../cluster/job/limited-tables.ts';
import { shellCommand } from '../../cluster/job/start-command.ts';
import { shortId } from '../../cluster/trainer-entry.ts';
import { isoTime } from '../../host/clock.ts';
import { cut, durationText, wrapped } from '../base/fit.ts';
import { listedText } from '../base/listed-bad-records.ts';
import { pointText, resultText } from '../base/result-text.ts';
import type { MakeTable } from '../base/table.ts';
import { secondsLeft } from '../base/time-left.ts';
import { copiesLine, copiesTable } from './copies-text.ts';
import { errorsText } from './errors-text.ts';
import { limitedTablesTable } from './limited-tables.ts';
import { causesOf, phaseOf, reasonOf, type ShownStatus } from './shown-status.ts';
import { roundsText } from './status-text-rounds.ts';
import { timesText } from './times-text.ts';

export interface TextOptions {
  readonly table: MakeTable;
  /** Shows everything that is known about where processes are. */
  readonly isWide: boolean;
  /** Columns of the terminal: longer lines wrap, rows of tables are cut. */
  readonly columns?: number | undefined;
}

/** `wallSeconds`: now, in seconds since 1970. */
export function statusText(status: ShownStatus, wallSeconds: number, options: TextOptions): string {
  const { table, isWide, columns = Number.POSITIVE_INFINITY } = options;
  const { record, end, processes, written, health, here, copies, listed = {} } = status;
  const { replicas } = record.job.cluster;
  if (end !== undefined && 'result' in end)
    return resultText({ ...end.result, ...listed }, record.job.training.classWeights);
  const lines = [`job ${record.job.name}: ${phaseOf(status)}`];
  if (end !== undefined) lines.push(...`${end.failure.code}: ${end.failure.message}`.split('\n'));
  const master = directingInfo(status);
  if (master !== undefined) {
    lines.push(...(master.mode === 'sync' ? roundsText(master.rounds, master) : tasksText(master)));
    lines.push(...paceText(master));
    if (master.kept !== undefined) lines.push(keptText(master.kept));
    if (isSaveRefused(status)) lines.push(...checkpointText(status.checkpoints, wallSeconds));
  } else lines.push(...storedText(status, wallSeconds));
  lines.push(...listedText(listed));
  // The line about the cluster says what there is to say when no process answers.
  const [cause] = end !== undefined || health.status === 'UNKNOWN' ? [] : causesOf(status);
  if (cause !== undefined) lines.push(`why: ${cause.sentence}`);
  const reason = reasonOf(status);
  lines.push(`cluster: ${health.status}${reason && `, ${reason}`}`);
  if (health.status === 'UNKNOWN' && processes.length > 0 && written !== undefined) {
    lines.push(`the last master wrote ${written.cluster_status}, but it does not answer`);
  }
  for (const { role, id, answer } of processes) {
    if (answer.kind === 'notUnderstood') {
      lines.push(`the ${role === 'master' ? role : `${role} ${id}`} ${answer.error.message}`);
    }
  }
  if (end === undefined && processes.length > 0) lines.push(...spreadText(status), ...timesText(processes));
  if (copies !== undefined) lines.push(copiesLine(copies, replicas));
  const [note] = end === undefined ? tableNotes(status) : [];
  if (note !== undefined) lines.push(`note: ${note.sentence}`);
  // Ids, addresses and reasons that processes wrote: none of them can start a new line.
  const shown = lines.map((line) => wrapped(visible(line), columns));
  // A command is copied: it stays in one piece.
  if (end === undefined && health.status === 'UNKNOWN' && here?.kind !== 'run')
    shown.push(...resumeText(status).map(visible));
  if (processes.length === 0) return [...shown, 'no live processes'].join('\n');
  const heads = ['role', 'id', 'pid', 'address', ...(isWide ? WIDE : []), 'activity'];
  const isNarrow = columns < NARROW_COLUMNS;
  const shownOf = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => !isNarrow || heads[at] !== 'address');
  const rows = processes.map((process) => shownOf(processCells(process, status, isWide)));
  const ofUnits = copies && copiesTable(copies, { table, isWide, replicas });
  const limited = end === undefined ? limitedTables(status) : undefined;
  const tables = [
    table(shownOf(heads.map((head) => ({ head }))), rows),
    ...(limited === undefined ? [] : [limitedTablesTable(limited, table, columns)]),
    ...(ofUnits === undefined ? [] : [ofUnits]),
  ];
  const cells = tables.flatMap((one) => ['', ...one.split('\n').map((line) => cut(line, columns))]);
  return [...shown, ...cells, ...errorsText(processes, wallSeconds, columns)].join('\n');
}

/** How fast, how good, how long. */
function paceText(master: DirectingInfo): string[] {
  const { recordsPerSecond, trainers } = master;
  const losses = Object.values(trainers).flatMap(({ loss }) => loss ?? []);
  const left = secondsLeft(master);
  const parts = [
    ...(recordsPerSecond === undefined ? [] : [`${recordsPerSecond} records/s`]),
    ...(losses.length === 0
      ? []
      : [`mean loss ${(losses.reduce((sum, loss) => sum + loss, 0) / losses.length).toFixed(4)}`]),
    ...(left === undefined ? [] : [`${durationText(left)} left`]),
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
function spreadText({ spread, wanted }: ShownStatus): string[] {
  const { pservers, toMove, units, missing } = spread;
  const leaving = pservers.filter(({ isLeaving }) => isLeaving).map(({ index }) => index);
  if (toMove === 0 && leaving.length === 0 && missing.length === 0) return [];
  const moves = toMove === 0 ? [] : [`${toMove} of ${units} units are to move`];
  const leaves = leaving.length === 0 ? [] : [`pserver ${leaving.join(', ')} to leave`];
  return [[`pservers: ${wanted.pservers} wanted, ${pservers.length} running`, ...moves, ...leaves].join('; ')];
}

/** How far the job is that no master directs, and its newest checkpoints. */
function storedText({ stored, checkpoints, record }: ShownStatus, wallSeconds: number): string[] {
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
const isSaveRefused = ({ health }: ShownStatus): boolean =>
  health.waitingFor.some(({ kind }) => kind === 'checkpointFolder');

function checkpointText(checkpoints: JobStatus['checkpoints'], wallSeconds: number): string[] {
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

function resumeText({ command }: ShownStatus): string[] {
  if (command === undefined) return [];
  return [`to resume it, on ${command.host}:`, `  cd ${shellCommand([command.folder])} && ${command.command}`];
}

type AsyncInfo = Extract<DirectingInfo, { mode: 'async' }>;

function tasksText(master: AsyncInfo): string[] {
  const { pass, total, todo, pending, done, discarded } = master.tasks;
  const counts = `${todo} todo, ${pending} pending, ${done} done, ${discarded} discarded`;
  const { read, bad, duplicate } = master.sums;
  return [
    `pass ${Math.min(pass + 1, master.passes)} of ${master.passes}, ${total} tasks: ${counts}`,
    `records: ${read} read, ${bad} bad, ${duplicate} duplicate`,
    ...troubles(master),
  ];
}

/** Slow trainers, repairs, discarded tasks, and why no task is handed out. */
function troubles({ attempts, discarded, recovery, tasks, waitReason }: AsyncInfo): string[] {
  const lines = attempts
    .filter(({ slow }) => slow)
    .map(({ trainer, task, attempt, phase, position, executing, ageMs }) => {
      const activity = executing ? `in ${phase}, at push ${position}` : 'held, not started';
      const seconds = (ageMs / 1000).toFixed(1);
      return `slow: task ${task} (attempt ${attempt}) on trainer ${shortId(trainer)}, ${activity}, for ${seconds} s`;
    });
  if (recovery.reconciled < recovery.number) {
    lines.push(`recovery ${recovery.number}: replaying ${recovery.repairing} tasks because a pserver was restored`);
  }
  for (const { task, pass, where, code, error } of discarded) {
    lines.push(`discarded in pass ${pass + 1}: task ${task} (${where}): ${code}: ${error}`);
  }
  if (tasks.todo > 0 && tasks.pending === 0) lines.push(`waiting: ${waitReason}`);
  return lines;
}

function processCells(process: LiveProcess, { spread, record }: ShownStatus, isWide: boolean): string[] {
  const { role, id, address, lease, answer } = process;
  const pid = answer.kind === 'info' ? String(answer.info.pid) : '';
  const share = role === 'pserver' ? spread.pservers.find(({ index }) => index === Number(id)) : undefined;
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
  if (answer.kind === 'notUnderstood') return 'unknown, see above';
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
