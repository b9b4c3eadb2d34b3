/** What a process registers in the store is not believed to be an address. */
import { expect, it } from 'vitest';
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import { askInfoAt } from '../../src/view/ask-info.ts';
import { testToken } from '../protocol/join.ts';
import { fixedRandom, MemoryLog, realClock } from '../protocol/rig.ts';

const network = createWebSocketNetwork({
  clock: realClock,
  random: fixedRandom,
  joinToken: testToken,
  log: new MemoryLog(),
});

it.each(['', 'nowhere', '\u001b[2J:99999999', 'a b:1', '[::1'])('a process at %j cannot be asked', async (address) => {
  const answer = await askInfoAt(network, address);
  expect(answer).toMatchObject({ kind: 'notUnderstood', error: { code: 'StoreValueInvalid' } });
});
