/**
 * The network of a simulated cluster: each process has a host, each host a link with a bandwidth each way, and a
 * latency lies between any two. Bytes queue at the link of the sender, then at that of the receiver.
 */
import type { Cargo } from '../../../test/sim/parcel.ts';
import type { Carrier } from '../../../test/sim/pipe.ts';
import type { SimulatedProcess } from '../../../test/sim/process.ts';
import type { Timeline } from '../../../test/sim/timeline.ts';

/** What a message costs both ends, and how long it is. */
export interface MessageCosts {
  /** With its header. */
  bytesOf(cargo: Cargo): number;
  sendMs(from: SimulatedProcess, cargo: Cargo): number;
  receiveMs(to: SimulatedProcess, cargo: Cargo): number;
}

export interface LinkSpeed {
  /** Each way. */
  readonly bytesPerMs: number;
  /** One way, without what the two processes and the two links take. */
  readonly latencyMs: number;
}

/** What went over the link of one process so far. */
export interface LinkUse {
  sentMessages: number;
  receivedMessages: number;
  sentBytes: number;
  receivedBytes: number;
}

interface Link extends LinkUse {
  outFreeMs: number;
  inFreeMs: number;
}

export class Links implements Carrier {
  readonly #timeline: Timeline;
  readonly #speed: LinkSpeed;
  readonly #costs: MessageCosts;
  readonly #links = new Map<string, Link>();

  constructor(timeline: Timeline, speed: LinkSpeed, costs: MessageCosts) {
    this.#timeline = timeline;
    this.#speed = speed;
    this.#costs = costs;
  }

  useOf(name: string): LinkUse {
    const { sentMessages, receivedMessages, sentBytes, receivedBytes } = this.#linkOf(name);
    return { sentMessages, receivedMessages, sentBytes, receivedBytes };
  }

  arrivesAtMs(from: SimulatedProcess, to: SimulatedProcess, cargo: Cargo | undefined): number {
    const { bytesPerMs, latencyMs } = this.#speed;
    if (cargo === undefined) return this.#timeline.nowMs + latencyMs;
    from.processor?.spend(this.#costs.sendMs(from, cargo));
    const leavesMs = Math.max(this.#timeline.nowMs, from.processor?.freeAtMs ?? 0);
    const bytes = this.#costs.bytesOf(cargo);
    const tookMs = bytes / bytesPerMs;
    const [out, into] = [this.#linkOf(from.name), this.#linkOf(to.name)];
    out.outFreeMs = Math.max(leavesMs, out.outFreeMs) + tookMs;
    // The receiver's link takes the first byte in while the sender's still has the last one.
    const firstMs = out.outFreeMs - tookMs + latencyMs;
    into.inFreeMs = Math.max(firstMs, into.inFreeMs) + tookMs;
    out.sentMessages += 1;
    out.sentBytes += bytes;
    into.receivedMessages += 1;
    into.receivedBytes += bytes;
    return into.inFreeMs;
  }

  arrived(to: SimulatedProcess, cargo: Cargo | undefined, take: () => void): void {
    if (cargo === undefined || to.processor === undefined) take();
    else to.processor.take(this.#costs.receiveMs(to, cargo), take);
  }

  #linkOf(name: string): Link {
    const found = this.#links.get(name);
    if (found !== undefined) return found;
    const use = { sentMessages: 0, receivedMessages: 0, sentBytes: 0, receivedBytes: 0 };
    const link = { ...use, outFreeMs: 0, inFreeMs: 0 };
    this.#links.set(name, link);
    return link;
  }
}
