/** Room for staged updates at a backup (docs/copies.md, "Copies"). */
import { LIMITS } from '../../../base/limits.ts';
import type { BackupRoomOptions } from '../../../core/replicas/backup-room.ts';
import { roomOfPart } from '../../../core/replicas/peer-link.ts';
import { MOST_LISTED_BYTES } from '../update/size.ts';

/** Window of each primary at a backup. An update that is larger than the window is staged alone. */
const WINDOW_BYTES = 64 * 2 ** 20;

/** Most room that an update can take at a peer, in bytes. `units`: number of units of the job. */
export const mostRoom = (units: number): number => LIMITS.replicatedBytes + units * (roomOfPart(0) + MOST_LISTED_BYTES);

/** Room of each primary at a backup, in a job with up to `mostPservers` pservers. */
export function roomFor(units: number, mostPservers: number): BackupRoomOptions {
  const largestBytes = mostRoom(units);
  return { windowBytes: WINDOW_BYTES, lateBytes: mostPservers * largestBytes, largestBytes };
}
