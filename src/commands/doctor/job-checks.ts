/** The checks of a store and of a job. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { refuseAbsent, refuseUntrained } from '../../data/absent-columns.ts';
import type { BadRecord } from '../../data/bad-record.ts';
import { describeBad } from '../../data/bad-records.ts';
import { inCache } from '../../data/bytes/content.ts';
import { type FirstLook, lookAtFirst } from '../../data/first-records.ts';
import { type DataFormat, formatOf } from '../../data/formats/registry.ts';
import { findFiles } from '../../data/index-builder.ts';
import { coarseOddities, type Oddity, odditiesOf, sharedOddities } from '../../data/oddities.ts';
import { oneLabelWithTexts, refuseOneLabel } from '../../data/one-label.ts';
import type { DataPlace } from '../../data/place.ts';
import { type LoadedJob, loadJob } from '../../job/load-job.ts';
import { columnSpecOf, type RequestedJob } from '../../job/schema.ts';
import { taskOf } from '../../model/registry.ts';
import { checkFirstRecords } from '../../roles/master/dataset.ts';
import { listJobs } from '../../store/list-jobs.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import { checkWritable } from '../base/check-writable.ts';
import type { CommandStore } from '../base/command-store.ts';
import type { Check, Finding } from './check.ts';

const LEASE_TTL_MS = 5000;

/** `open`: the store that the flags name, without creating it. */
export function storeCheck(url: string, open: () => Promise<CommandStore>): Check {
  return {
    name: 'store',
    run: async () => {
      const opened = await open().catch(unlessMissing);
      if (opened === undefined) return { status: 'ok', detail: `${url}: does not exist yet; a job creates it` };
      const { store, ask } = opened;
      try {
        const { clusterId, revision } = await retryUntilAnswered(ask, () => store.identity());
        const lease = await store.leaseGrant(LEASE_TTL_MS);
        await store.leaseKeepAlive(lease.leaseId);
        await store.leaseRevoke(lease.leaseId);
        const jobs = await listJobs(store);
        const has = jobs.length === 0 ? 'no job' : `jobs ${jobs.join(', ')}`;
        return { status: 'ok', detail: `${url}: cluster ${clusterId}, revision ${revision}, leases work, ${has}` };
      } finally {
        await store.close();
      }
    },
  };
}

function unlessMissing(error: unknown): undefined {
  if (!isPaddletError(error, 'JobUnknown')) throw error;
}

export interface JobToCheck {
  readonly path: string;
  readonly sets: readonly string[];
  readonly dataDir: string | undefined;
  readonly cacheDir: string;
}

export function jobChecks(host: Host, { path, sets, dataDir, cacheDir }: JobToCheck): Check[] {
  // Once: a pipe can be read only once.
  let loaded: Promise<LoadedJob> | undefined;
  const load = () => (loaded ??= loadJob({ path, sets, dataDir, disk: host.disk }));
  return [
    {
      name: 'job file',
      run: async () => {
        const { job } = await load();
        const { pservers, trainers } = job.cluster;
        return { status: 'ok', detail: `${job.name}: ${job.model.type}, ${pservers} pservers, ${trainers} trainers` };
      },
    },
    {
      name: 'data',
      after: 'job file',
      run: async () => {
        const { job, dataDir: folder } = await load();
        await checkCache(host, cacheDir);
        return checkData({ host, folder, cacheFolder: cacheDir, corruptChunks: job.data.corruptChunks }, job);
      },
    },
  ];
}

/** One that is there may have all that is needed, even if it cannot be written to. */
async function checkCache({ disk }: Host, folder: string): Promise<void> {
  if ((await disk.inspect(folder))?.kind === 'folder') return;
  await inCache(folder, async () => checkWritable(folder));
}

const ALLOW = 'fix them, or raise data.maxBadRecords';
const manyBad = (count: number, first: BadRecord): string =>
  `${count} of the first records ${count === 1 ? 'is' : 'are'} bad: ${describeBad(first)}`;

async function checkData(place: DataPlace, job: RequestedJob): Promise<Finding> {
  const { format, train, trainLabels, test, testLabels } = job.data;
  const trained = (await findFiles(place, labelled(format, train, trainLabels))).paths;
  const tested = test.length === 0 ? [] : (await findFiles(place, labelled(format, test, testLabels))).paths;
  await checkFirstRecords(place, job);
  if (trained.length === 0) throw new PaddletError('DataMissing', `no training files in ${place.folder}`);
  const looks: FirstLook[] = [];
  const data = { format, columns: columnSpecOf(job) };
  const oneLabels: Oddity[] = [];
  for (const [set, paths] of [
    ['training', trained],
    ['test', tested],
  ] as const) {
    if (paths.length === 0) continue;
    const look = await lookAtFirst(place, data, paths);
    looks.push(look);
    const { traits, records, isWhole } = look;
    const { columns } = job.data;
    const labelled = { set, records, isFirst: !isWhole, traits, task: taskOf(job.model), columns };
    const source = { what: paths, ...data };
    if (isWhole) refuseAbsentIn(job, set, looks);
    if (set === 'training' && isWhole && job.warmStart === undefined) await refuseOneLabel(place, labelled, source);
    const oneLabel = await oneLabelWithTexts(place, labelled, source);
    if (oneLabel !== undefined) oneLabels.push(oneLabel);
  }
  const isWhole = looks.every((look) => look.isWhole);
  const files = `${trained.length} training and ${tested.length} test files in ${place.folder}`;
  const detail = isWhole ? files : `${files}; first records only`;
  const odd = odditiesOf(
    looks.map(({ traits }) => traits),
    { task: taskOf(job.model), columns: job.data.columns },
  );
  odd.push(...coarseOddities(looks[0]?.statistics), ...oneLabels, ...sharedOddities(trained, tested));
  const bad = looks.flatMap((look) => look.bad);
  const [first] = bad;
  // Whether a task has too many is known when all records are in tasks.
  const isMany = first !== undefined && bad.length > job.data.maxBadRecords;
  const warnings = isMany ? [...odd, { message: manyBad(bad.length, first), hint: ALLOW }] : odd;
  if (warnings.length === 0) return { status: 'ok', detail };
  const messages = warnings.map(({ message }) => message).join('; ');
  const hints = [...new Set(warnings.map(({ hint }) => hint))].join('; ');
  return { status: 'warn', detail: `${detail}; ${messages}`, hint: hints };
}

/** Throws as `run` does. `looks`: at the training files, then at the test files, which were read whole. */
function refuseAbsentIn(
  { data }: RequestedJob,
  set: 'training' | 'test',
  [trained, tested]: readonly FirstLook[],
): void {
  if (set === 'training') refuseUntrained(formatOf(data.format), trained!.traits.absentColumns);
  else if (trained!.isWhole) {
    const [absent, complete] = [tested!.traits.absentColumns, trained!.traits.completeColumns];
    refuseAbsent({ where: 'the test files', absent, complete });
  }
}

function labelled(format: DataFormat, what: readonly string[], labels: readonly string[]) {
  return { what, format, ...(labels.length === 0 ? {} : { labels }) };
}
