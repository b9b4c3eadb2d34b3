/** A real etcd for one test. */
import { onTestFinished } from 'vitest';
import { EtcdServer } from '../etcd-server.ts';

export async function startEtcd(): Promise<EtcdServer> {
  const etcd = await EtcdServer.start();
  onTestFinished(() => etcd.stop());
  return etcd;
}
