/** Connections that are used again at each look at a job. */
import type { Channel, ConnectOptions, Network } from '../../protocol/messages/channel.ts';

interface Kept {
  readonly channel: Channel;
  /** Whether it was used since the last sweep. */
  isUsed: boolean;
}

export class KeptNetwork implements Network {
  readonly #network: Network;
  readonly #kept = new Map<string, Kept>();

  constructor(network: Network) {
    this.#network = network;
  }

  readonly listen: Network['listen'] = (options) => this.#network.listen(options);

  /** Those that close the channel leave it to `sweep`. */
  connect(address: string, options?: ConnectOptions): Channel {
    if (options !== undefined) return this.#network.connect(address, options);
    let kept = this.#kept.get(address);
    if (kept === undefined) {
      kept = { channel: this.#network.connect(address), isUsed: true };
      this.#kept.set(address, kept);
    }
    kept.isUsed = true;
    const { channel } = kept;
    return {
      address,
      request: (message, limits) => channel.request(message, limits),
      sending: () => channel.sending(),
      close: () => {},
    };
  }

  /** Closes what was not used since it was called last. */
  sweep(): void {
    for (const [address, kept] of this.#kept) {
      if (!kept.isUsed) {
        kept.channel.close();
        this.#kept.delete(address);
      }
      kept.isUsed = false;
    }
  }

  close(): void {
    for (const { channel } of this.#kept.values()) channel.close();
    this.#kept.clear();
  }
}
