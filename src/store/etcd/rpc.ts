/**
 * Calls to the cluster through the clients of npm `etcd3`, with none of its policies: there, unrelated calls share a
 * circuit breaker, no call has a deadline, and a failed write is repeated without knowing whether it landed. Here each
 * call says whether it may be repeated, has a time limit, and fails over to the next member.
 */
import type { WatchClient } from 'etcd3';
import type { Clock } from '../../base/seams.ts';
import type { EtcdAccess } from './access.ts';
import { EtcdCallError } from './call-error.ts';
import { EtcdMember } from './member.ts';
import { CALL_LIMIT_MS, TimeLimits } from './time-limits.ts';

/** With several members, one that does not answer is given up sooner. */
const CONNECT_LIMIT_OF_SEVERAL_MS = 500;

export interface CallOptions {
  /** Reads, and writes that may happen twice: repeated on the next member while there is time. */
  readonly isRepeatable: boolean;
}

export const REPEATABLE: CallOptions = { isRepeatable: true };

export type WatchStream = Awaited<ReturnType<WatchClient['watch']>>;

export interface EtcdRpcOptions {
  /** `host:port` of each member. */
  readonly hosts: readonly string[];
  readonly access: EtcdAccess;
  readonly clock: Clock;
}

export class EtcdRpc {
  readonly #clock: Clock;
  readonly #limits: TimeLimits;
  readonly #members: readonly EtcdMember[];
  #current = 0;

  constructor({ hosts, access, clock }: EtcdRpcOptions) {
    this.#clock = clock;
    this.#limits = new TimeLimits(clock);
    const connectLimitMs = hosts.length === 1 ? CALL_LIMIT_MS : CONNECT_LIMIT_OF_SEVERAL_MS;
    const limits = this.#limits;
    const isNamed = hosts.length > 1;
    this.#members = hosts.map((host) => new EtcdMember({ host, isNamed, clock, access, limits, connectLimitMs }));
  }

  /** Runs one call on a member, and on the next ones as far as it may be repeated. Throws `EtcdCallError`. */
  async call<T>({ isRepeatable }: CallOptions, run: (member: EtcdMember) => Promise<T>): Promise<T> {
    const limitMs = this.#clock.monotonicMs() + CALL_LIMIT_MS;
    for (let isRenewed = false; ; ) {
      const member = this.#members[this.#current]!;
      const { generation } = member;
      try {
        return await run(member);
      } catch (error) {
        if (error instanceof EtcdCallError && error.isTokenRefused) {
          member.forgetToken();
          if (!isRenewed) {
            isRenewed = true;
            continue;
          }
        }
        if (!(error instanceof EtcdCallError) || error.status !== undefined || this.#limits.isClosed) throw error;
        this.#fail(member, generation);
        const mayRepeat = isRepeatable || !error.isInDoubt;
        if (!mayRepeat || this.#clock.monotonicMs() >= limitMs) throw error;
      }
    }
  }

  /**
   * Opens a stream that lasts. `fail` reports that it failed: the next one goes to the next member, with another token
   * when the server refused this one.
   */
  async watch(): Promise<{ readonly stream: WatchStream; readonly fail: (isRefused: boolean) => void }> {
    const member = this.#members[this.#current]!;
    const { generation } = member;
    const fail = (isRefused: boolean): void => {
      if (isRefused) member.forgetToken();
      this.#fail(member, generation);
    };
    try {
      return { stream: await member.watches.watch(), fail };
    } catch (error) {
      fail(false);
      throw error;
    }
  }

  close(): void {
    this.#limits.close();
    for (const member of this.#members) member.reset(member.generation);
  }

  #fail(member: EtcdMember, generation: number): void {
    member.reset(generation);
    if (this.#members[this.#current] === member) this.#current = (this.#current + 1) % this.#members.length;
  }
}
