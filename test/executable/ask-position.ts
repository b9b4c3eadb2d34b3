/** A request that only the owner of units may answer, on a connection that a client has. */
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { parseRoleInfo } from '../../src/view/info.ts';
import type { JobStore } from './job-store.ts';

const jobSchema = z.object({ id: z.string(), batchPlanId: z.string() });

/** What asks the pserver at `address` for a position in its ledger, as one who knows who leads what at this moment. */
export async function askPosition(store: JobStore, address: string): Promise<() => Promise<unknown>> {
  const { id: job, batchPlanId } = jobSchema.parse(JSON.parse((await store.get('/job'))!.value));
  const channel = store.network().connect(address);
  onTestFinished(() => channel.close());
  const about = parseRoleInfo((await channel.request({ header: { type: 'info' } }, { timeoutMs: 60_000 })).header.info);
  if (about.role !== 'pserver' || about.state !== 'working') throw new Error(`no pserver serves at ${address}`);
  const { placement } = about;
  const header = { type: 'position' as const, job, batchPlanId, placement, tasks: [{ pass: 0, task: 0 }] };
  return async () => (await channel.request({ header }, { timeoutMs: 60_000 })).header;
}
