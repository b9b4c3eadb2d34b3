/** What must hold when a job has ended, whatever was done to it. */

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openCheckpoint } from '../../src/checkpoint/file/reader.ts';
import { type JobResult, jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import type { KeyValue } from '../../src/store/store.ts';
import type { ReferenceResult } from '../../test/sync/reference-loop.ts';
import type { ChaosJob } from './jobs.ts';

/** Whatever of it does not hold, in words. `plain`: in sync mode, what a plain loop makes of the job. */
export async function checkAccount(
  job: ChaosJob,
  end: {
    readonly result: KeyValue | undefined;
    readonly checkpoints: string;
    readonly logs: string;
    readonly plain: ReferenceResult | undefined;
  },
): Promise<{ readonly faults: string[]; readonly result: JobResult | undefined }> {
  if (end.result === undefined) return { faults: ['there is no /result'], result: undefined };
  const parsed = jobResultSchema.safeParse(JSON.parse(end.result.value));
  if (!parsed.success) return { faults: [`the job failed: ${end.result.value}`], result: undefined };
  const result = parsed.data;
  const faults: string[] = [];
  const want = (what: string, found: unknown, wanted: unknown): void => {
    if (found !== wanted) faults.push(`${what}: ${String(found)}, not ${String(wanted)}`);
  };
  const { passes } = job.job.training;
  want('records.applied', result.records.applied, passes * job.records);
  for (const none of ['bad', 'discarded', 'lost'] as const) want(`records.${none}`, result.records[none], 0);
  want('tasks.done', result.tasks.done, result.tasks.total);
  if (end.plain !== undefined) {
    want('modelDigest', result.modelDigest, end.plain.modelDigest);
    want('stateDigest', result.stateDigest, end.plain.stateDigest);
  }
  want('revision of /result', end.result.modRevision, end.result.createRevision);
  for (const name of readdirSync(end.logs).filter((file) => /^master.*\.out$/.test(file))) {
    for (const line of readFileSync(join(end.logs, name), 'utf8').split('\n')) {
      // A master that lost its lock says so and ends with 5.
      if (line === '' || line.includes('"code":"LeaseGone"')) continue;
      want(`what ${name} printed`, line, end.result.value);
    }
  }
  for (const mark of ['accuracy', 'auc'] as const) {
    const wanted = end.plain === undefined ? job.marks[mark] : undefined;
    const found = result.metrics.test?.[mark];
    if (wanted !== undefined && !(found !== undefined && found >= wanted)) {
      faults.push(`test ${mark}: ${found}, at least ${wanted.toFixed(4)} wanted`);
    }
  }
  // In sync mode the digests say it: a round is one update, whatever it has of a row.
  if (end.plain === undefined) faults.push(...(await checkUpdates(job, result, end.checkpoints)));
  return { faults, result };
}

/**
 * Adam counts the updates of each block and row. Batches are cut by position within a task, so it is known how many
 * each must have: an account apart from the ledgers.
 */
async function checkUpdates(job: ChaosJob, result: JobResult, folder: string): Promise<string[]> {
  const { passes, batchSize } = job.job.training;
  const { train, recordsPerTask } = job.job.data;
  const batches = cutBatches(job.records, recordsPerTask, batchSize);
  const rows = job.job.data.format === 'libsvm' ? updatesByRow(join(job.dataDir, train), batches) : new Map();
  const faults: string[] = [];
  let seen = 0;
  for (const { index, uuid, md5 } of result.checkpoints) {
    const path = join(folder, String(index), uuid);
    if (!existsSync(path)) {
      faults.push(`checkpoint ${path} is missing`);
      continue;
    }
    if ((await md5Of(path)) !== md5) faults.push(`checkpoint ${path}: another MD5 than in /result`);
    const reader = await openCheckpoint(createStorage(createDisk()), path);
    try {
      for (const { shard } of reader.positions) {
        for await (const { parameter, step, block } of reader.blocksOf(shard)) {
          // Running statistics have no Adam.
          if (reader.facts.parameters.dense[parameter]?.statisticRate !== undefined) continue;
          const wanted = passes * batches.length;
          if (step !== wanted) faults.push(`block ${block}: ${step} updates, not ${wanted}`);
        }
        if (rows.size === 0) continue;
        for await (const { ids, steps } of reader.rowsOf(shard, 0)) {
          ids.forEach((id, i) => {
            seen += 1;
            const wanted = passes * (rows.get(id) ?? 0);
            if (steps?.[i] !== wanted) faults.push(`row ${id}: ${steps?.[i]} updates, not ${wanted}`);
          });
        }
      }
    } finally {
      await reader.close();
    }
  }
  if (seen !== rows.size) faults.push(`${seen} rows, not ${rows.size}`);
  return faults.length > 12 ? [...faults.slice(0, 12), `and ${faults.length - 12} more`] : faults;
}

type Batch = readonly [first: number, end: number];

function cutBatches(records: number, recordsPerTask: number, batchSize: number): Batch[] {
  const batches: Batch[] = [];
  for (let task = 0; task < records; task += recordsPerTask) {
    const end = Math.min(task + recordsPerTask, records);
    for (let first = task; first < end; first += batchSize) batches.push([first, Math.min(first + batchSize, end)]);
  }
  return batches;
}

function updatesByRow(path: string, batches: readonly Batch[]): Map<bigint, number> {
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
  const lines = text.trimEnd().split('\n');
  const updates = new Map<bigint, number>();
  for (const [first, end] of batches) {
    const ids = new Set(lines.slice(first, end).flatMap((line) => [...line.matchAll(/ (\d+):/g)].map(([, id]) => id!)));
    for (const id of ids) updates.set(BigInt(id), (updates.get(BigInt(id)) ?? 0) + 1);
  }
  return updates;
}

async function md5Of(path: string): Promise<string> {
  const hash = createHash('md5');
  for await (const piece of createReadStream(path)) hash.update(piece as Uint8Array);
  return hash.digest('hex');
}
