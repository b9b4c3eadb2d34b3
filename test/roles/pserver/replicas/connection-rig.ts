/** A network whose channels carry nothing: what is asked on them is answered, or fails, when a test says so. */
import { PaddletError } from '../../../../src/base/errors.ts';
import type { BatchAnswer, PeerBatch, SharedPayload } from '../../../../src/core/replicas/peer-link.ts';
import type { Channel, Network, RequestOptions } from '../../../../src/protocol/messages/channel.ts';
import type { PeerProtocol } from '../../../../src/roles/pserver/replicas/peer-connection.ts';
import type { FakeClock } from '../../../store/support.ts';

/** A request that waits for its answer. */
export class Asked<T> {
  readonly timeoutMs: number;
  readonly answer = Promise.withResolvers<T>();

  constructor({ timeoutMs }: RequestOptions) {
    this.timeoutMs = timeoutMs;
  }
}

export class AskedBatch extends Asked<BatchAnswer> {
  readonly batch: PeerBatch<SharedPayload>;

  constructor(batch: PeerBatch<SharedPayload>, options: RequestOptions) {
    super(options);
    this.batch = batch;
  }
}

export class FakeChannel implements Channel {
  readonly address: string;
  opening: Asked<number> | undefined;
  readonly batches: AskedBatch[] = [];
  isClosed = false;

  constructor(address: string) {
    this.address = address;
  }

  request(): never {
    throw new Error('the protocol of the test asks nothing of a channel');
  }

  sending(): undefined {
    return undefined;
  }

  /** As the connection would when it breaks, or when this side closes it. */
  break(): void {
    for (const { answer } of [this.opening, ...this.batches].filter((asked) => asked !== undefined))
      answer.reject(new PaddletError('ConnectionLost', 'gone'));
  }

  close(): void {
    this.isClosed = true;
    this.break();
  }
}

export class FakeNetwork implements PeerProtocol<SharedPayload> {
  readonly clock: FakeClock;
  readonly channels: FakeChannel[] = [];
  readonly network: Network = {
    listen: () => Promise.reject(new Error('no process listens')),
    connect: (address) => {
      const channel = new FakeChannel(address);
      this.channels.push(channel);
      return channel;
    },
  };

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  get newest(): FakeChannel {
    return this.channels.at(-1)!;
  }

  open(channel: Channel, options: RequestOptions): Promise<number> {
    const opening = new Asked<number>(options);
    (channel as FakeChannel).opening = opening;
    return this.#inTime(opening);
  }

  send(channel: Channel, batch: PeerBatch<SharedPayload>, options: RequestOptions): Promise<BatchAnswer> {
    const asked = new AskedBatch(batch, options);
    (channel as FakeChannel).batches.push(asked);
    return this.#inTime(asked);
  }

  async #inTime<T>({ timeoutMs, answer }: Asked<T>): Promise<T> {
    const cancel = this.clock.after(timeoutMs, () => answer.reject(new PaddletError('RequestTimeout', 'late')));
    try {
      return await answer.promise;
    } finally {
      cancel();
    }
  }
}
