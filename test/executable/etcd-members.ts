/** A real etcd of several members, each on a machine of a test's network. */

import { findEtcd } from '../etcd-server.ts';
import type { Place } from './harness.ts';
import type { TestNetwork } from './network.ts';

const CLIENT_PORT = 2379;
const PEER_PORT = 2380;

/** Starts them as processes of the place; the URL of the store. They have elected a leader when it answers. */
export function startEtcdMembers(place: Place, network: TestNetwork, machines: readonly string[]): string {
  const peerUrl = (machine: string): string => `http://${network.addressOf(machine)}:${PEER_PORT}`;
  const clientUrl = (machine: string): string => `http://${network.addressOf(machine)}:${CLIENT_PORT}`;
  const members = machines.map((machine) => `${machine}=${peerUrl(machine)}`).join(',');
  for (const machine of machines) {
    const flags = {
      name: machine,
      'data-dir': place.path(`etcd-${machine}`),
      'listen-client-urls': clientUrl(machine),
      'advertise-client-urls': clientUrl(machine),
      'listen-peer-urls': peerUrl(machine),
      'initial-advertise-peer-urls': peerUrl(machine),
      'initial-cluster': members,
    };
    const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
    place.startCommand(machine, network.on(machine, [findEtcd()!, ...args]));
  }
  return `etcd://${machines.map((machine) => `${network.addressOf(machine)}:${CLIENT_PORT}`).join(',')}`;
}
