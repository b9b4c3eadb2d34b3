/** What a checkpoint says of its job: the model, and the data that it takes. */
import { isPaddletError } from '../../base/errors.ts';
import type { CheckpointSet } from '../../checkpoint/set/checkpoint-set.ts';
import { recordCarriedIn } from '../../cluster/job/carried-record.ts';
import type { Job } from '../../job/schema.ts';

export type About =
  | {
      readonly model: Job['model'];
      readonly format: Job['data']['format'];
      /** Number of columns; 0 for formats without columns. */
      readonly columns: number;
    }
  /** Why the checkpoint is not enough for predictions. */
  | { readonly complaint: string };

export function aboutOf({ facts, parts }: Pick<CheckpointSet, 'facts' | 'parts'>): About {
  try {
    const { model, data } = recordCarriedIn(facts, parts[0]?.path ?? facts.uuid).job;
    return { model, format: data.format, columns: data.columns?.length ?? 0 };
  } catch (error) {
    if (!isPaddletError(error, 'VersionMismatch', 'CheckpointCorrupt')) throw error;
    return { complaint: error.message };
  }
}
