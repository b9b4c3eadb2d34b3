/** The status of a job for people. */
import type { DirectingInfo, RoleInfo } from '../../cluster/info.ts';
import type { JobStatus, LiveProcess } from '../../cluster/job/describe-job.ts';
import { resultText } from '../base/result-text.ts';
import type { MakeTable } from '../base/table.ts';
import { directingInfo, phaseOf } from './status-json.ts';
import { roundsText } from './status-text-rounds.ts';

export function statusText(status: JobStatus, table: MakeTable): string {
  const { record, end, processes, cluster } = status;
  if (end !== undefined && 'result' in end) return resultText(end.result);
  const lines = [`job ${record.job.name}: ${phaseOf(status)}`];
  if (end !== undefined) lines.push(`${end.failure.code}: ${end.failure.message}`);
  const master = directingInfo(status);
  if (master !== undefined) {
    lines.push(...(master.mode === 'sync' ? roundsText(master.rounds, master) : tasksText(master)));
  }
  if (cluster !== undefined) lines.push(`cluster: ${cluster.cluster_status}${cluster.reason && `, ${cluster.reason}`}`);
  for (const { role, id, answer } of processes) {
    if (answer.kind === 'notUnderstood') {
      lines.push(`the ${role === 'master' ? role : `${role} ${id}`} ${answer.error.message}`);
    }
  }
  lines.push(...processes.flatMap(savingTrouble));
  if (processes.length === 0) return [...lines, 'no live processes'].join('\n');
  const columns = ['role', 'id', 'pid', 'address', 'activity'].map((head) => ({ head }));
  return [...lines, '', table(columns, processes.map(processCells))].join('\n');
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
      return `slow: task ${task} (attempt ${attempt}) on trainer ${trainer}, ${activity}, for ${seconds} s`;
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

function processCells({ role, id, address, answer }: LiveProcess): string[] {
  const pid = answer.kind === 'info' ? String(answer.info.pid) : '';
  return [role, role === 'master' ? '' : id, pid, address, activityOf(answer)];
}

/** Why a pserver cannot save. */
function savingTrouble({ id, answer }: LiveProcess): string[] {
  if (answer.kind !== 'info' || answer.info.role !== 'pserver' || answer.info.state !== 'working') return [];
  const { failing } = answer.info.checkpoint;
  if (failing === undefined) return [];
  return [`pserver ${id} cannot save: ${failing.message}${failing.hint === undefined ? '' : `; ${failing.hint}`}`];
}

function activityOf(answer: LiveProcess['answer']): string {
  if (answer.kind === 'none') return 'does not answer';
  if (answer.kind === 'notUnderstood') return 'unknown, see above';
  const { info } = answer;
  return info.state === 'waiting' ? `waiting for ${info.waitingFor}` : workText(info);
}

function workText(info: Extract<RoleInfo, { state: 'working' }>): string {
  switch (info.role) {
    case 'master':
      return info.phase;
    case 'pserver': {
      const position = info.mode === 'sync' ? `round ${info.round}` : `${info.updates} updates`;
      return `${info.shards} shards, ${info.rows} rows, ${(info.bytes / 1e6).toFixed(1)} MB, ${position}`;
    }
    case 'trainer': {
      const loss = info.loss === undefined ? '' : `, loss ${info.loss.toFixed(4)}`;
      return `${info.phase}, ${info.records} records${loss}`;
    }
  }
}
