/** What `run --dry-run` says, for people. */
import { isoTime } from '../../host/clock.ts';
import type { Job } from '../../job/schema.ts';
import type { DryRun, Plan } from './dry-run.ts';
import type { ParameterSize } from './job-sizes.ts';

export function dryRunText({ job, folder, store, would, deletes, isAgreed = false, plan }: DryRun): string {
  const what = {
    begin: 'would start: the job does not exist yet',
    startOver: `would start over: the earlier run is deleted${progressText(deletes, isAgreed)}`,
    resume: 'exists and is not finished: it would be resumed',
    continue: `exists with fewer passes: it would be continued up to pass ${job.training.passes}`,
    showEnd: 'has ended: its result would be shown, and nothing started; --fresh starts over',
  }[would];
  return [
    `job ${job.name} ${what}`,
    ...jobLines(job),
    ...(plan === undefined ? [] : planLines(job, plan)),
    `folder      ${folder}`,
    `store       ${store}`,
    'nothing was started or changed (--dry-run)',
  ].join('\n');
}

function progressText(deletes: DryRun['deletes'], isAgreed: boolean): string {
  if (deletes === undefined) return '';
  const { pass, savedAt } = deletes;
  const saved = savedAt === undefined ? 'no checkpoint yet' : `newest checkpoint of ${isoTime(savedAt)}`;
  return `. It is not finished (${pass === 0 ? '' : `${pass} passes done, `}${saved})${isAgreed ? '' : ': asks first, unless --yes is given'}`;
}

function jobLines({ model, data, training, optimizer, checkpoint }: Job): string[] {
  const { mode, passes, batchSize, seed, lanes } = training;
  const rounds = mode === 'sync' ? `, ${lanes} lanes` : '';
  const { type, ...settings } = optimizer;
  const given = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  const { intervalMs, delta } = checkpoint;
  const every = intervalMs === 'off' ? 'not by time' : `every ${intervalMs / 1000} s`;
  const saves = delta === undefined ? every : `deltas every ${delta.intervalMs / 1000} s, bases ${every}`;
  return [
    `model       ${model.type} on ${data.format}`,
    `training    ${mode}${rounds}, ${counted(passes, 'pass', 'passes')}, batches of ${batchSize}, seed ${seed}`,
    `optimizer   ${[type, ...given].join(', ')}`,
    `saves       ${saves}; ${checkpoint.keep} older checkpoints are kept`,
  ];
}

function planLines(
  { cluster, data: { recordsPerTask } }: Job,
  { data, work, processes, parameters, memory, checkpoints }: Plan,
): string[] {
  const { train, test } = data;
  const { pservers, trainers } = processes;
  const counts = ({ records, files }: Plan['data']['train']): string =>
    `${number(records)} records in ${counted(files, 'file')}`;
  const copies = cluster.replicas > 1 ? `, with ${cluster.replicas} copies` : '';
  const tables =
    memory.tableBytesAtMost === undefined
      ? ', and tables that grow with the data'
      : memory.tableBytesAtMost > 0
        ? `, and at most about ${bytesText(memory.tableMemoryBytesAtMost!)} for ${bytesText(memory.tableBytesAtMost)} of tables`
        : '';
  const { bytes, isAtLeast, generations, deltaShare = 0, freeBytes } = checkpoints;
  const onDisk = Math.ceil(bytes * generations * (1 + deltaShare));
  const most = isAtLeast ? 'at least' : 'at most';
  return [
    `data        ${counts(train)}: ${counted(train.tasks, 'task')} of up to ${counted(recordsPerTask, 'record')}${test === undefined ? '' : `; test: ${counts(test)}`}`,
    `work        ${number(work.perPass)} ${work.of} a pass, ${work.isExact ? '' : 'about '}${number(work.total)} in all`,
    `processes   1 master, ${counted(pservers, 'pserver')}, ${counted(trainers, 'trainer')}`,
    ...parameters.map((one, at) => `${at === 0 ? 'parameters' : '          '}  ${parameterText(one)}`),
    `memory      of a pserver: ${bytesText(memory.denseBytes)} dense${tables}${copies}`,
    `checkpoints ${most} ${bytesText(bytes)} of parameters, ${bytesText(onDisk)} with older ones and one being written;`,
    `            ${bytesText(freeBytes)} free in ${checkpoints.folder}`,
  ];
}

function parameterText({ name, optimizer, shape, rowBytes, rowsAtMost, bytes }: ParameterSize): string {
  if (shape !== undefined) return `${name} [${shape.join(', ')}], ${optimizer}: ${bytesText(bytes ?? 0)}`;
  const rows = rowsAtMost === undefined ? 'any number of rows' : `at most ${number(rowsAtMost)} rows`;
  return `${name}, ${optimizer}: ${rows} of ${rowBytes} bytes${bytes === undefined ? '' : `, ${bytesText(bytes)}`}`;
}

const number = (value: number): string => value.toLocaleString('en');

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

function bytesText(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.max(0, Math.floor((String(Math.round(bytes)).length - 1) / 3)));
  return at === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** at).toFixed(1)} ${UNITS[at]}`;
}
