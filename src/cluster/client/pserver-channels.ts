/** One channel to each owner of a pserver index; channels to former owners are closed. */
import { isPaddletError } from '../../base/errors.ts';
import type { Channel, Network } from '../../protocol/messages/channel.ts';
import type { PlacedPserver, PlacementView } from '../placement/placement-view.ts';

export interface PserverChannels {
  to(pserver: PlacedPserver): Channel;
  /** `Channel.sending` of all channels together. */
  sending(): Promise<unknown> | undefined;
  close(): void;
}

/** One process that holds a pserver index: after a restart it is another owner, to whom other requests were sent. */
const ownerKey = ({ index, token }: PlacedPserver): string => `${index}/${token}`;

export function createPserverChannels(network: Network, view: PlacementView, isBuffered: boolean): PserverChannels {
  const channels = new Map<string, { readonly owner: PlacedPserver; readonly channel: Channel }>();
  /** A key is made once for each pserver of a placement, not for each request. */
  const keys = new WeakMap<PlacedPserver, string>();
  const closed = new AbortController();

  /** A former owner will not answer: its requests fail at once, and are repeated to the next owner. */
  async function dropFormerOwners(): Promise<never> {
    for (;;) {
      const version = view.version();
      for (const [key, { owner, channel }] of channels) {
        if (view.isLive(owner.index, owner.token)) continue;
        channels.delete(key);
        channel.close();
      }
      await view.changed.until(() => (view.version() === version ? undefined : true), closed.signal);
    }
  }
  dropFormerOwners().catch((error: unknown) => {
    if (!isPaddletError(error, 'Interrupted')) throw error;
  });

  return {
    to(pserver) {
      let key = keys.get(pserver);
      if (key === undefined) {
        key = ownerKey(pserver);
        keys.set(pserver, key);
      }
      const known = channels.get(key);
      if (known !== undefined) return known.channel;
      const channel = network.connect(pserver.address, { isBuffered });
      channels.set(key, { owner: pserver, channel });
      return channel;
    },
    sending() {
      let busy: Promise<unknown>[] | undefined;
      for (const { channel } of channels.values()) {
        const sending = channel.sending();
        if (sending === undefined) continue;
        busy ??= [];
        busy.push(sending);
      }
      return busy && Promise.all(busy);
    },
    close() {
      closed.abort();
      for (const { channel } of channels.values()) channel.close();
      channels.clear();
    },
  };
}
