/** Positions and ledgers of the shards of a set of files, and which part of the data they have seen. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { createLedger } from '../../core/shard/ledger.ts';
import { mixWords, type RowHash, SetDigest } from './row-hash.ts';
import type { ShardSource } from './shard-source.ts';

/** Digest of number, epoch, seq and ledger of every shard. Equal whatever files the shards are in. */
export async function positionsDigest(shards: readonly ShardSource[]): Promise<string> {
  const sum = new SetDigest();
  for (const { reader, shard, epoch, seq } of shards) {
    const ledger = createHash('sha256')
      .update(await reader.ledgerOf(shard))
      .digest();
    const words = new Uint32Array(8 + 5);
    words.set(new Uint32Array(ledger.buffer.slice(ledger.byteOffset, ledger.byteOffset + 32)));
    words.set([shard, epoch, Math.floor(epoch / 2 ** 32), seq, Math.floor(seq / 2 ** 32)], 8);
    const hash: RowHash = { a: 1, b: 2 };
    mixWords(hash, words, 0, words.length);
    sum.add(hash);
  }
  return sum.text();
}

export interface LedgerProgress {
  /** Tasks of a pass. */
  readonly tasks: number;
  /** Passes that are complete. */
  readonly passes: number;
  /** Records applied, and those of discarded tasks that never were. */
  readonly applied: number;
  readonly discarded: number;
  /** Passes that have started and are not complete. */
  readonly open: readonly { readonly pass: number; readonly applied: number; readonly closed: number }[];
}

export interface PositionsFound {
  /** Progress of the shard that has applied least. Undefined if a ledger cannot be read. */
  readonly progress: LedgerProgress | undefined;
  readonly complaint: string | undefined;
  /** Distinct ledgers: more than one if the shards were captured at different moments. */
  readonly ledgers: number;
}

export async function progressOf(shards: readonly ShardSource[]): Promise<PositionsFound> {
  let least: LedgerProgress | undefined;
  let complaint: string | undefined;
  const seen = new Set<string>();
  for (const { reader, shard } of shards) {
    const bytes = await reader.ledgerOf(shard);
    const key = createHash('sha256').update(bytes).digest('hex');
    if (seen.has(key)) continue;
    seen.add(key);
    try {
      const progress = readLedger(bytes);
      if (least === undefined || progress.applied < least.applied) least = progress;
    } catch (error) {
      if (!isPaddletError(error, 'CheckpointCorrupt')) throw error;
      complaint ??= `${reader.path}: shard ${shard}: ${error.message}`;
    }
  }
  return { progress: complaint === undefined ? least : undefined, complaint, ledgers: seen.size };
}

function readLedger(bytes: Uint8Array): LedgerProgress {
  const { tasks, watermark } = parseHead(bytes);
  const { applied, discarded, passes } = createLedger(tasks, bytes).account();
  return { tasks, passes: watermark, applied, discarded, open: passes };
}

/** The ledger itself checks the rest. */
const headSchema = z.object({ tasks: z.int().min(1).max(LIMITS.tasks), watermark: z.int().min(0) });

function parseHead(bytes: Uint8Array): z.infer<typeof headSchema> {
  try {
    return headSchema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch (cause) {
    throw new PaddletError('CheckpointCorrupt', 'its ledger of applied tasks cannot be parsed', { cause });
  }
}
