/** A ledger as a checkpoint file keeps it: JSON in UTF-8. */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';

const count = z.int().min(0);

const passSchema = z.strictObject({
  pass: count,
  /** Bitmap of the closed tasks, as `bitmapToText` writes it. */
  closed: z.string(),
  closedGood: count,
  discarded: count,
  /** Task, next push wanted, good records below that push. */
  open: z.array(z.tuple([count, z.int().min(1), count])),
});
export type SavedPass = z.infer<typeof passSchema>;

const ledgerSchema = z.strictObject({
  version: z.literal(1),
  /** Tasks of a pass. */
  tasks: z.int().min(1).max(LIMITS.tasks),
  watermark: count,
  /** The complete passes: those below the watermark. */
  collapsed: z.array(z.strictObject({ good: count, discarded: count })),
  passes: z.array(passSchema),
});
export type SavedLedger = z.infer<typeof ledgerSchema>;

export const encodeLedger = (ledger: SavedLedger): Uint8Array => new TextEncoder().encode(JSON.stringify(ledger));

/** Throws `CheckpointCorrupt`. */
export function decodeLedger(bytes: Uint8Array): SavedLedger {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw corruptLedger('not JSON', cause);
  }
  const parsed = ledgerSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw corruptLedger(`${issue?.path.join('.')}: ${issue?.message}`);
}

export const corruptLedger = (what: string, cause?: unknown): PaddletError =>
  new PaddletError('CheckpointCorrupt', `ledger: ${what}`, { cause });
