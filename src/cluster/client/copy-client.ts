/** Asks pservers about the copies of units that they have (docs/protocol.md, "Copies of units"). */
import type { ReplyHeader } from '../../protocol/messages/all-messages.ts';
import type { Channel, Network } from '../../protocol/messages/channel.ts';
import type { JobRecord } from '../job/job-record.ts';
import type { LivePserver } from '../placement/unit-places.ts';
import { jobFields } from './job-fields.ts';

type ReplyOf<T extends ReplyHeader['type']> = Extract<ReplyHeader, { type: T }>;

/** The copies of a unit, as its primary knows them. */
export type UnitCopies = ReplyOf<'unitCopies'>['units'][number];
export type CopyMoment = Omit<ReplyOf<'copyDigest'>, 'type'>;

export interface AskedDigest {
  readonly shard: number;
  /** Undefined: only where the copy is. */
  readonly position?: number;
  readonly maxWaitMs: number;
}

const ANSWER_WITHIN_MS = 5_000;

export class CopyClient {
  readonly #network: Network;
  readonly #fields: ReturnType<typeof jobFields>;
  readonly #channels = new Map<string, Channel>();

  constructor(network: Network, record: JobRecord) {
    this.#network = network;
    this.#fields = jobFields(record);
  }

  /** Copies of all units that the pserver leads, ascending by unit. */
  async copiesAt(pserver: LivePserver): Promise<UnitCopies[]> {
    const all: UnitCopies[] = [];
    for (;;) {
      const from = (all.at(-1)?.unit ?? -1) + 1;
      const header = { type: 'unitCopies' as const, ...this.#fields, ...named(pserver), from };
      const reply = await this.#to(pserver).request({ header }, { timeoutMs: ANSWER_WITHIN_MS });
      reply.free();
      all.push(...reply.header.units);
      if (!reply.header.more || reply.header.units.length === 0) return all;
    }
  }

  async digestAt(pserver: LivePserver, asked: AskedDigest): Promise<CopyMoment> {
    const header = { type: 'copyDigest' as const, ...this.#fields, ...named(pserver), ...asked };
    const reply = await this.#to(pserver).request({ header }, { timeoutMs: asked.maxWaitMs + ANSWER_WITHIN_MS });
    reply.free();
    return reply.header;
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.close();
  }

  #to({ address }: LivePserver): Channel {
    const channel = this.#channels.get(address) ?? this.#network.connect(address);
    this.#channels.set(address, channel);
    return channel;
  }
}

/** Another process may have the address by now. */
const named = ({ index, token }: LivePserver) => ({ pserver: { index, token: token.toString() } });
