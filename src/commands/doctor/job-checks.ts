/** The checks of a store and of a job. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import type { DataFormat } from '../../data/formats/registry.ts';
import { findFiles } from '../../data/index-builder.ts';
import { loadJob } from '../../job/load-job.ts';
import { checkFirstRecords } from '../../roles/master/dataset.ts';
import { listJobs } from '../../store/list-jobs.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { CommandStore } from '../base/command-store.ts';
import type { Check } from './check.ts';

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
  const load = () => loadJob({ path, sets, dataDir, disk: host.disk });
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
        const { format, train, trainLabels, test, testLabels } = job.data;
        const place = { host, folder, cacheFolder: cacheDir };
        const trained = await findFiles(place, labelled(format, train, trainLabels, job.data.recordsPerTask));
        const tested =
          test.length === 0
            ? []
            : (await findFiles(place, labelled(format, test, testLabels, job.data.recordsPerTask))).paths;
        await checkFirstRecords(place, job);
        if (trained.paths.length === 0) throw new PaddletError('DataMissing', `no training files in ${folder}`);
        return {
          status: 'ok',
          detail: `${trained.paths.length} training and ${tested.length} test files in ${folder}`,
        };
      },
    },
  ];
}

function labelled(format: DataFormat, what: readonly string[], labels: readonly string[], recordsPerTask: number) {
  return { what, format, recordsPerTask, ...(labels.length === 0 ? {} : { labels }) };
}
