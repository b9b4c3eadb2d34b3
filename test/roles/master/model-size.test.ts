/** The size of the model is what the pservers say that they have in use. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { Channel, Network } from '../../../src/protocol/messages/channel.ts';
import { measureModel } from '../../../src/roles/master/model-size.ts';
import type { RoleInfo } from '../../../src/view/info.ts';
import * as infos from '../../cluster/role-infos.ts';

/** Pservers that have so many bytes in use; undefined: it does not answer. */
async function measured(bytes: readonly (number | undefined)[], isPlaced = true): Promise<number> {
  const answers = new Map(bytes.map((size, index) => [`host:${index}`, size]));
  let open = 0;
  const connect = (address: string): Channel => {
    open += 1;
    const size = answers.get(address);
    const info = { ...infos.asyncPserver(0, 0), bytes: size } as RoleInfo;
    const request = async () => {
      if (size === undefined) throw new PaddletError('RequestTimeout', 'no answer in time');
      return { header: { type: 'info', info }, free: () => {} };
    };
    return { request, close: () => void open-- } as unknown as Channel;
  };
  const pservers = [...answers.keys()].map((address, index) => ({ index, address }));
  const view = { current: () => (isPlaced ? { pservers } : undefined) };
  const size = await measureModel({ connect } as unknown as Network, view as Parameters<typeof measureModel>[1]);
  expect(open).toBe(0);
  return size;
}

it.each<[string, readonly (number | undefined)[], number]>([
  ['all of them together', [10, 20, 5], 35],
  ['one that does not answer as the largest of the others', [10, undefined, 30], 70],
  ['none, where none answers', [undefined, undefined], 0],
])('counts %s', async (_, bytes, size) => {
  expect(await measured(bytes)).toBe(size);
});

it('is nothing while a shard has no owner', async () => {
  expect(await measured([10], false)).toBe(0);
});
