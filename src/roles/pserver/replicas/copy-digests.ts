/**
 * Digests of copies of shards while the job trains. The caller names a position before the copies reach it. So the
 * digests of all copies of a shard cover the same updates. A digest is taken between two updates, without interruption.
 */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { Cancel, Clock } from '../../../base/seams.ts';
import { shardDigest } from '../../../checkpoint/set/shard-digest.ts';
import type { TrainedSpec } from '../../../tensor/optimizer.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { CopiedUnits } from './copied-units.ts';

export interface CopyDigestsOptions {
  readonly clock: Clock;
  readonly spec: TrainedSpec;
  readonly owned: Pick<OwnedShards, 'parameters' | 'shardsOf' | 'seqOf' | 'momentOf'>;
  readonly copied: Pick<CopiedUnits, 'momentOf'>;
}

export interface DigestRequest {
  readonly shard: number;
  /** Number of updates applied to the shard. Undefined: the caller asks only for the current position. */
  readonly position?: number | undefined;
  readonly maxWaitMs: number;
}

export interface DigestAnswer {
  /** Absent if this pserver has no copy. */
  readonly position?: number;
  readonly digest?: string;
}

interface Asked {
  readonly request: DigestRequest;
  readonly answer: (answer: DigestAnswer) => void;
  readonly cancelLimit: Cancel;
}

export class CopyDigests {
  readonly #options: CopyDigestsOptions;
  readonly #asked = new Set<Asked>();

  constructor(options: CopyDigestsOptions) {
    this.#options = options;
  }

  /** Throws `Overloaded` if too many digests are awaited. */
  of(request: DigestRequest): Promise<DigestAnswer> {
    const { shard, position = 0, maxWaitMs } = request;
    const at = this.#positionOf(shard);
    if (at === undefined || at >= position || maxWaitMs === 0) return Promise.resolve(this.#answerTo(request));
    if (this.#asked.size >= LIMITS.digestsWaiting)
      throw new PaddletError('Overloaded', `${this.#asked.size} digests of copies are being waited for`);
    const { promise, resolve } = Promise.withResolvers<DigestAnswer>();
    const asked: Asked = {
      request,
      answer: resolve,
      cancelLimit: this.#options.clock.after(maxWaitMs, () => this.#end(asked)),
    };
    this.#asked.add(asked);
    return promise;
  }

  /** These units have had an update. Call this between two updates. */
  applied(units: readonly number[]): void {
    if (this.#asked.size === 0) return;
    const shards = new Set(units.flatMap((unit) => this.#options.owned.shardsOf(unit)));
    for (const asked of this.#asked) {
      const { shard, position = 0 } = asked.request;
      if (shards.has(shard) && (this.#positionOf(shard) ?? position) >= position) this.#end(asked);
    }
  }

  close(): void {
    for (const asked of this.#asked) this.#end(asked);
  }

  #end(asked: Asked): void {
    this.#asked.delete(asked);
    asked.cancelLimit();
    asked.answer(this.#answerTo(asked.request));
  }

  #answerTo({ shard, position: wanted }: DigestRequest): DigestAnswer {
    const position = this.#positionOf(shard);
    if (position === undefined) return {};
    return position === wanted ? { position, digest: this.#digestOf(shard) } : { position };
  }

  #positionOf(shard: number): number | undefined {
    const { owned, copied } = this.#options;
    return owned.seqOf(shard) ?? copied.momentOf(shard)?.seq;
  }

  #digestOf(shard: number): string {
    const { owned, copied, spec } = this.#options;
    const copy = copied.momentOf(shard);
    const moment = copy === undefined ? owned.momentOf(shard) : { ...copy, ledger: copy.ledger() };
    return shardDigest(owned.parameters, spec, shard, moment);
  }
}
