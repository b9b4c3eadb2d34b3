/** Keeps models of a job that is evaluated while it trains; a separate process, `paddlet evaluate`, scores each. */
import * as z from 'zod';
import { CODES, type ErrorCode, isErrorCode, PaddletError } from '../../base/errors.ts';
import type { Log, Shell } from '../../base/seams.ts';
import {
  deleteReleased,
  type KeptPlace,
  keepModelFiles,
  keptNames,
  removeKept,
} from '../../checkpoint/registry/kept.ts';
import { manifestPath } from '../../checkpoint/registry/manifest.ts';
import { type Metrics, metricsSchema } from '../../cluster/job/job-result.ts';
import { shellCommand } from '../../cluster/job/start-command.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { throwIfAborted } from '../../cluster/waiting.ts';
import { selfCommand } from '../../host/processes.ts';
import type { KeptJob, ModelKeeper } from '../../roles/master/best/model-keeper.ts';

export interface ModelKeeperOptions {
  readonly shell: Shell;
  /** Where the data is on this machine. */
  readonly dataDir: string;
  readonly cacheDir: string;
}

const scoredSchema = z.object(metricsSchema.shape);
const failedSchema = z.object({
  error: z.object({ code: z.custom<ErrorCode>(isErrorCode), message: z.string(), hint: z.string().optional() }),
});

export const modelKeeperOf =
  (options: ModelKeeperOptions) =>
  ({ context, fence, record, checkpointFolder }: KeptJob): ModelKeeper => {
    const { host, store, keys } = context;
    const job = { id: record.id, name: record.job.name };
    const place: KeptPlace = { ...host, store, keys, fence, folder: checkpointFolder, job };
    return {
      keep: (name, files) => retryStore(context, () => keepModelFiles(place, name, files)),
      names: async () => {
        await retryStore(context, () => deleteReleased(place));
        return retryStore(context, () => keptNames(place));
      },
      remove: (name) => retryStore(context, () => removeKept(place, name)),
      score: (name, signal) =>
        score({ ...options, ...host }, record, { path: manifestPath(place, name), name, signal }),
      pathOf: (name) => manifestPath(place, name),
    };
  };

interface Kept {
  readonly path: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** It ends with this process, whatever ends that. */
async function score(
  options: ModelKeeperOptions & { readonly log: Log },
  record: KeptJob['record'],
  kept: Kept,
): Promise<Metrics> {
  const { shell, log, dataDir, cacheDir } = options;
  const { data, labels } = record.job.evaluation ?? { data: [], labels: [] };
  const { command, args } = selfCommand();
  const named = [...data.flatMap((file) => ['--data', file]), ...labels.flatMap((file) => ['--labels', file])];
  const folders = ['--data-dir', dataDir, '--cache-dir', cacheDir];
  const words = [command, ...args, 'evaluate', kept.path, ...named, ...folders, '--json'];
  let said = '';
  const { code, signal } = await shell.run(shellCommand(words), {
    env: {},
    folder: dataDir,
    signal: kept.signal,
    onLine: (line, from) => {
      if (from === 'stdout') said += line;
      else log.info(`evaluating ${kept.name}: ${line}`);
    },
  });
  throwIfAborted(kept.signal);
  const answer = parsed(said);
  const found = code === 0 ? scoredSchema.safeParse(answer) : undefined;
  if (found?.success === true) return found.data;
  const failed = failedSchema.safeParse(answer).data?.error;
  const isOfModel = failed !== undefined && CODES[failed.code].action === 'fatal' && failed.code !== 'Interrupted';
  const why = failed?.message ?? (code === null ? `it was ended by ${signal}` : `exit code ${code}`);
  throw new PaddletError(isOfModel ? failed.code : 'EvaluationFailed', `${kept.path} could not be evaluated: ${why}`, {
    hint: failed?.hint ?? 'read the output of the evaluation in the log of the master',
  });
}

function parsed(text: string): unknown {
  try {
    // JSON has no NaN: such a metric is missing.
    return JSON.parse(text, (_, value) => (value === null ? undefined : value));
  } catch {
    return undefined;
  }
}
