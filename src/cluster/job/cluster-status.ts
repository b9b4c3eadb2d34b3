/** The value of `/pserver_cluster_status`, which the master keeps (seeds/large-scale-design.zh.md). */
import * as z from 'zod';
import { parseStoreValue } from '../../core/tasks/state.ts';

export const clusterStatusSchema = z.strictObject({
  cluster_status: z.enum(['OK', 'UNHEALTHY', 'UNKNOWN']),
  /** Empty when all is well. */
  reason: z.string(),
  /** Indexes of live pservers. */
  nodes: z.array(z.int().min(0)),
});
export type ClusterStatus = Readonly<z.infer<typeof clusterStatusSchema>>;

export const parseClusterStatus = (key: string, value: string): ClusterStatus =>
  parseStoreValue(clusterStatusSchema, key, value);
