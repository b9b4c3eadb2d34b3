/** A job's standing for people and for scripts. */
import * as z from 'zod';
import type { JobStanding, ProcessRow } from '../../cluster/job/describe-job.ts';
import { elapsedSeconds } from '../../cluster/job/job-record.ts';
import { resultText } from './result-text.ts';
import { roundsSchema, roundsText } from './status-text-rounds.ts';
import type { TableColumn } from './table.ts';

/** The part of a master's description that is shown; other versions may say more or less. */
const commonSchema = { phase: z.string(), passes: z.number(), waiting: z.string() };

/** Of a job in mode async. */
const tasksSchema = z.object({
  ...commonSchema,
  tasks: z.object({
    pass: z.number(),
    total: z.number(),
    todo: z.number(),
    pending: z.number(),
    done: z.number(),
    discarded: z.number(),
  }),
  sums: z.object({ read: z.number(), good: z.number(), bad: z.number(), duplicate: z.number() }),
  attempts: z.array(
    z.object({
      trainer: z.string(),
      task: z.number(),
      attempt: z.number(),
      phase: z.string(),
      position: z.number(),
      executing: z.boolean(),
      ageMs: z.number(),
      slow: z.boolean(),
    }),
  ),
  discarded: z.array(
    z.object({ task: z.number(), pass: z.number(), where: z.string(), code: z.string(), error: z.string() }),
  ),
  recovery: z.object({ number: z.number(), reconciled: z.number(), repairing: z.number() }),
});
type TasksStanding = z.infer<typeof tasksSchema>;

const masterSchema = z.union([tasksSchema, z.object({ ...commonSchema, rounds: roundsSchema })]);

const masterOf = ({ processes }: JobStanding) =>
  masterSchema.safeParse(processes.find(({ role }) => role === 'master')?.info).data;

export type Phase = 'done' | 'failed' | 'stopped' | 'training' | 'evaluating' | 'concluding' | 'waiting';

export function phaseOf(standing: JobStanding): Phase {
  const { end, processes } = standing;
  if (end !== undefined) return 'failure' in end ? 'failed' : 'done';
  const phase = masterOf(standing)?.phase;
  if (phase === 'training' || phase === 'evaluating' || phase === 'concluding') return phase;
  return processes.length === 0 ? 'stopped' : 'waiting';
}

/** The object of `status --json` at `wallSeconds`: the result's fields as far as they are known, the cluster and its processes. */
export function standingJson(standing: JobStanding, wallSeconds: number): object {
  const { record, end, cluster, processes, checkpoints } = standing;
  const master = masterOf(standing);
  const { passes, mode } = record.job.training;
  const common = {
    job: record.job.name,
    mode,
    passes,
    phase: phaseOf(standing),
    cluster: cluster ?? { cluster_status: 'UNKNOWN', reason: 'no master has looked yet', nodes: [] },
    processes: processes.map(processJson),
  };
  if (end !== undefined && 'result' in end) return { ...common, ...end.result };
  const soFar = {
    ...common,
    elapsedSeconds: elapsedSeconds(record, wallSeconds),
    checkpoints,
    ...(end && { error: { code: end.failure.code, message: end.failure.message, exit: end.failure.exitCode } }),
  };
  if (master === undefined) return soFar;
  const { waiting } = master;
  if ('rounds' in master) {
    const { pass, ...rounds } = master.rounds;
    return {
      ...soFar,
      ...(pass === undefined ? {} : { pass }),
      rounds,
      records: appliedBy(standing),
      waiting,
    };
  }
  const { pass, total, done, todo, pending, discarded } = master.tasks;
  return {
    ...soFar,
    pass,
    tasks: { total: passes * total, done: pass * total + done, discarded, todo, pending },
    records: { ...master.sums, ...appliedBy(standing) },
    attempts: master.attempts,
    recovery: master.recovery,
    waiting,
  };
}

const accountSchema = z.object({ account: z.object({ applied: z.number(), discarded: z.number() }) });

/** From the ledgers, of the pserver that applied least; nothing unless all pservers answered. */
function appliedBy({ record, processes }: JobStanding): { applied?: number; discarded?: number } {
  const accounts = processes
    .filter(({ role }) => role === 'pserver')
    .map(({ info }) => accountSchema.safeParse(info).data?.account)
    .filter((account) => account !== undefined);
  if (accounts.length < record.job.cluster.pservers) return {};
  return accounts.reduce((least, one) => (one.applied < least.applied ? one : least));
}

function processJson({ role, id, address, lease, info }: ProcessRow): object {
  const { role: _role, ...rest } = info ?? {};
  const named = role === 'pserver' ? { index: Number(id) } : role === 'trainer' ? { id } : {};
  return { role, ...named, address, lease, answers: info !== undefined, ...rest };
}

type Table = (columns: readonly TableColumn[], rows: readonly (readonly (string | number)[])[]) => string;

export function standingText(standing: JobStanding, table: Table): string {
  const { record, end, processes, cluster } = standing;
  if (end !== undefined && 'result' in end) return resultText(end.result);
  const lines = [`job ${record.job.name}: ${phaseOf(standing)}`];
  if (end !== undefined) lines.push(`${end.failure.code}: ${end.failure.message}`);
  const master = masterOf(standing);
  if (master !== undefined) {
    const more = 'rounds' in master ? roundsText(master.rounds, master.passes, master.waiting) : tasksText(master);
    lines.push(...more);
  }
  const status = z.object({ cluster_status: z.string(), reason: z.string() }).safeParse(cluster).data;
  if (status !== undefined) lines.push(`cluster: ${status.cluster_status}${status.reason && `, ${status.reason}`}`);
  if (processes.length === 0) return [...lines, 'no live processes'].join('\n');
  const columns = ['role', 'id', 'pid', 'address', 'doing'].map((head) => ({ head }));
  return [...lines, '', table(columns, processes.map(processCells))].join('\n');
}

function tasksText(master: TasksStanding): string[] {
  const { pass, total, todo, pending, done, discarded } = master.tasks;
  return [
    `pass ${Math.min(pass + 1, master.passes)} of ${master.passes}, ${total} tasks: ${todo} todo, ${pending} pending, ${done} done, ${discarded} discarded`,
    `records: ${master.sums.read} read, ${master.sums.bad} bad, ${master.sums.duplicate} duplicate`,
    ...troubles(master),
  ];
}

/** What goes otherwise than smoothly: who is slow and at what, what is being repaired, what was given up, why nothing moves. */
function troubles({ attempts, discarded, recovery, tasks, waiting }: TasksStanding): string[] {
  const lines = attempts
    .filter(({ slow }) => slow)
    .map(({ trainer, task, attempt, phase, position, executing, ageMs }) => {
      const doing = executing ? `in ${phase}, at push ${position}` : 'held, not begun';
      return `slow: task ${task} (attempt ${attempt}) on trainer ${trainer}, ${doing}, for ${(ageMs / 1000).toFixed(1)} s`;
    });
  if (recovery.reconciled < recovery.number) {
    lines.push(
      `recovery ${recovery.number}: ${recovery.repairing} tasks are worked again after a pserver was restored`,
    );
  }
  for (const { task, pass, where, code, error } of discarded) {
    lines.push(`discarded in pass ${pass + 1}: task ${task} (${where}): ${code}: ${error}`);
  }
  if (tasks.todo > 0 && tasks.pending === 0) lines.push(`waiting: ${waiting}`);
  return lines;
}

function processCells(process: ProcessRow): string[] {
  const { role, id, address, info } = process;
  return [role, role === 'master' ? '' : id, String(info?.pid ?? ''), address, doing(process)];
}

/** Of what the roles say of themselves, what is shown: not all of it is understood when they are of another version. */
const trainerSchema = z
  .object({ phase: z.string(), records: z.number(), loss: z.number().optional() })
  .transform(({ phase, records, loss }) => {
    return `${phase}, ${records} records${loss === undefined ? '' : `, loss ${loss.toFixed(4)}`}`;
  });
const masterPhaseSchema = z.object({ phase: z.string() }).transform(({ phase }) => phase);
const storedSchema = z.object({ shards: z.number(), rows: z.number(), bytes: z.number() });
const pserverSchema = z
  .union([storedSchema.extend({ updates: z.number() }), storedSchema.extend({ round: z.number() })])
  .transform((one) => {
    const position = 'round' in one ? `round ${one.round}` : `${one.updates} updates`;
    return `${one.shards} shards, ${one.rows} rows, ${(one.bytes / 1e6).toFixed(1)} MB, ${position}`;
  });
const DOING = { master: masterPhaseSchema, pserver: pserverSchema, trainer: trainerSchema };

function doing({ role, info }: ProcessRow): string {
  if (info === undefined) return 'does not answer';
  if (typeof info.waitingFor === 'string') return `waiting for ${info.waitingFor}`;
  return DOING[role].safeParse(info).data ?? 'of another version: see --json';
}
