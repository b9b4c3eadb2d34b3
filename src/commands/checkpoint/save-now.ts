/** Has the pservers of a running job save: each by itself in async mode, one common round in sync mode. */
import { PaddletError } from '../../base/errors.ts';
import { createMasterClient } from '../../cluster/client/master-client.ts';
import { allSettledOrThrow } from '../../cluster/client/pserver-group.ts';
import type { SaveMode } from '../../protocol/messages/to-pserver.ts';
import { jobNetwork } from '../base/job-network.ts';
import { openLiveCluster } from '../base/live-cluster.ts';
import { whileJobRuns } from '../base/while-job-runs.ts';
import type { OpenJob } from '../base/with-job.ts';

export interface SavedFile {
  readonly index: number;
  /** `running`: this pserver was saving already and ignored the request. */
  readonly outcome: 'saved' | 'running';
  readonly uuid?: string;
  readonly md5?: string;
  readonly bytes?: number;
}

/** In sync mode: the common round. */
export interface SavedCut {
  readonly outcome: 'saved' | 'running';
  readonly round?: number;
  readonly timeline?: number;
}

export interface Saved {
  readonly cut?: SavedCut;
  readonly pservers: readonly SavedFile[];
}

interface SaveOptions {
  /** Undefined: what is due at each pserver. */
  readonly mode: SaveMode | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onFatal: (error: Error) => void;
}

/** Throws `JobUnknown` when the job has ended or ends in the meantime. */
export async function saveNow(job: OpenJob, { signal, ...rest }: Omit<SaveOptions, 'onFatal'>): Promise<Saved> {
  const { store, keys, record, retryStore } = job;
  const ended = await retryStore(() => store.get(keys.result));
  const save = record.job.training.mode === 'sync' ? saveCut : saveFiles;
  const saved =
    ended === undefined
      ? await whileJobRuns(job, signal, (stopSignal, onFatal) => save(job, { ...rest, signal: stopSignal, onFatal }))
      : undefined;
  if (saved !== undefined) return saved;
  throw new PaddletError('JobUnknown', `job ${record.job.name} has ended and has published its final checkpoints`);
}

async function saveFiles(job: OpenJob, { mode, signal, timeoutMs, onFatal }: SaveOptions): Promise<Saved> {
  const asked = { final: false, ...(mode && { mode }) };
  const { group, close } = openLiveCluster(job, onFatal);
  try {
    const pservers = await group.withPlacement(
      'checkpoint save',
      (placement) =>
        allSettledOrThrow(
          placement.pservers.map(async (pserver): Promise<SavedFile> => {
            const reply = await group.ask(pserver, 'checkpoint', asked, [], timeoutMs);
            reply.free();
            const { outcome, saved } = reply.header;
            return { index: pserver.index, outcome, ...saved };
          }),
        ),
      signal,
    );
    return { pservers };
  } finally {
    close();
  }
}

async function saveCut({ host, store, keys, record }: OpenJob, options: SaveOptions): Promise<Saved> {
  const { mode, signal, timeoutMs, onFatal } = options;
  const master = createMasterClient({ host, store, keys, network: jobNetwork(host, store, keys) }, onFatal);
  try {
    const { id, batchPlanId } = record;
    const header = { type: 'checkpoint' as const, job: id, batchPlanId, final: false, ...(mode && { mode }) };
    const reply = await master.request({ header }, { timeoutMs, signal });
    reply.free();
    const { outcome, cut } = reply.header;
    if (outcome === 'running' || cut === undefined) return { cut: { outcome: 'running' }, pservers: [] };
    const { files, ...which } = cut;
    return { cut: { outcome, ...which }, pservers: files.map((file) => ({ outcome, ...file })) };
  } finally {
    master.close();
  }
}
