/** Connections that looks at a job use again. */
import { expect, it } from 'vitest';
import { KeptNetwork } from '../../../src/commands/page/kept-network.ts';
import type { Channel, Network } from '../../../src/protocol/messages/channel.ts';

function scene() {
  const open: string[] = [];
  const connect = (address: string): Channel => {
    open.push(address);
    return { address, close: () => void open.splice(open.indexOf(address), 1) } as unknown as Channel;
  };
  return { open, network: new KeptNetwork({ connect } as unknown as Network) };
}

it('connects once to an address, and closes what the last look did not use', () => {
  const { open, network } = scene();
  network.connect('a:1').close();
  network.connect('a:1').close();
  network.connect('b:1').close();
  network.sweep();
  expect(open).toEqual(['a:1', 'b:1']);
  network.connect('a:1').close();
  network.sweep();
  expect(open).toEqual(['a:1']);
  network.close();
  expect(open).toEqual([]);
  network.connect('a:1');
  expect(open).toEqual(['a:1']);
});

it('keeps no connection that is asked for with options', () => {
  const { open, network } = scene();
  network.connect('a:1', { isBuffered: true }).close();
  expect(open).toEqual([]);
});
