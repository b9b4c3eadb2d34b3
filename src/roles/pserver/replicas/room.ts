/** The room of a backup for updates that are staged (docs/copies.md, "Copies"). */
import { LIMITS } from '../../../base/limits.ts';
import type { BackupRoomOptions } from '../../../core/replicas/backup-room.ts';
import { roomOfPart } from '../../../core/replicas/peer-link.ts';
import { MOST_LISTED_BYTES } from '../update/size.ts';

/** What each primary may have staged at a backup. Larger updates go alone. */
const WINDOW_BYTES = 64 * 2 ** 20;

/** No update takes more room at a peer. `units`: of the job. */
export const mostRoom = (units: number): number => LIMITS.replicatedBytes + units * (roomOfPart(0) + MOST_LISTED_BYTES);

/** The room of a backup in a job that may have up to `mostPservers`. */
export function roomFor(units: number, mostPservers: number): BackupRoomOptions {
  const largestBytes = mostRoom(units);
  return { windowBytes: WINDOW_BYTES, lateBytes: mostPservers * largestBytes, largestBytes };
}
