/**
 * Whether the copies of a unit are equal, bit by bit, while the job trains. Copies apply the same updates in one order,
 * but not at one time: so each is asked for its digest at a position that is named ahead. How far ahead is found out:
 * further when a copy was past it already, less far when none of them came there.
 *
 * A difference counts when the head of the unit was the same before and after: then all of them were in sync under one
 * primary.
 */
import { isPaddletError } from '../../base/errors.ts';
import type { LivePserver, UnitPlace } from '../placement/unit-places.ts';
import type { AskedDigest, CopyMoment } from './copy-client.ts';

export interface CompareOptions {
  readonly digestAt: (pserver: LivePserver, asked: AskedDigest) => Promise<CopyMoment>;
  /** The revision of the unit's head in the store, now. */
  readonly headRevision: (unit: number) => Promise<bigint | undefined>;
}

export interface DifferingCopies {
  readonly shard: number;
  /** Updates applied to the shard. */
  readonly position: number;
  readonly digests: readonly { readonly pserver: number; readonly digest: string }[];
}

export type UnitComparison =
  | { readonly outcome: 'equal' }
  | { readonly outcome: 'different'; readonly shards: readonly DifferingCopies[] }
  /** There is only one copy now. */
  | { readonly outcome: 'alone' }
  /** The copies came, went or did not answer in the meantime: to be tried again. */
  | { readonly outcome: 'unsettled'; readonly why: string };

/** How long a copy may take to come to a position. */
const MEETS_WITHIN_MS = 1_000;
const MOST_TRIES = 20;

/** Throws errors that are not expected of a request or of the store. */
export async function compareUnit(
  options: CompareOptions,
  { unit, stored, copies, owner, last }: UnitPlace,
  shards: readonly number[],
): Promise<UnitComparison> {
  if (owner === undefined || stored === undefined) return { outcome: 'unsettled', why: 'no live pserver leads it' };
  if (copies.length < 2) return { outcome: 'alone' };
  const primaryFirst = [...copies].sort((a, b) => Number(b.index === last) - Number(a.index === last));
  const meeting = new Meeting(options, primaryFirst);
  const different: DifferingCopies[] = [];
  try {
    for (const shard of shards) {
      const compared = await meeting.compare(shard);
      if (typeof compared === 'string') return { outcome: 'unsettled', why: compared };
      if (compared !== undefined) different.push(compared);
    }
    if (different.length === 0) return { outcome: 'equal' };
    if ((await options.headRevision(unit)) === stored.modRevision) return { outcome: 'different', shards: different };
    return { outcome: 'unsettled', why: 'its copies changed' };
  } catch (error) {
    if (!isPaddletError(error) || error.code === 'Interrupted') throw error;
    return { outcome: 'unsettled', why: error.message };
  }
}

class Meeting {
  readonly #options: CompareOptions;
  readonly #copies: readonly LivePserver[];
  #ahead = 0;

  constructor(options: CompareOptions, copies: readonly LivePserver[]) {
    this.#options = options;
    this.#copies = copies;
  }

  /** Undefined: the copies of the shard are equal. A text: why that could not be found out. */
  async compare(shard: number): Promise<DifferingCopies | string | undefined> {
    let { position: newest } = await this.#options.digestAt(this.#copies[0]!, { shard, maxWaitMs: 0 });
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (newest === undefined) return NO_COPY;
      const position = newest + this.#ahead;
      const moments = await this.#momentsAt(shard, position);
      const digests = moments.flatMap(({ pserver, digest }) => (digest === undefined ? [] : [{ pserver, digest }]));
      if (digests.length === moments.length) return differenceOf({ shard, position, digests });
      const positions = moments.flatMap((moment) => moment.position ?? []);
      if (positions.length < moments.length) return NO_COPY;
      newest = Math.max(...positions);
      this.#ahead = nextAhead(this.#ahead, newest > position);
    }
    return `its copies were never at the same position in ${MOST_TRIES} tries`;
  }

  #momentsAt(shard: number, position: number): Promise<(CopyMoment & { readonly pserver: number })[]> {
    const asked = { shard, position, maxWaitMs: MEETS_WITHIN_MS };
    return Promise.all(
      this.#copies.map(async (copy) => ({ ...(await this.#options.digestAt(copy, asked)), pserver: copy.index })),
    );
  }
}

const NO_COPY = 'a copy of it was removed';

function differenceOf(found: DifferingCopies): DifferingCopies | undefined {
  const [first, ...others] = found.digests;
  return others.every(({ digest }) => digest === first!.digest) ? undefined : found;
}

/** `wasPassed`: a copy was past the position. Otherwise one of them did not come there in time. */
export const nextAhead = (ahead: number, wasPassed: boolean): number =>
  wasPassed ? Math.max(1, 2 * ahead) : Math.floor(ahead / 4);
