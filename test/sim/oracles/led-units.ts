/** Which process leads which unit, as the store has it, and which units a request means. */
import { type Head, isCountedOn, parseHead } from '../../../src/cluster/placement/heads.ts';
import { stampOf } from '../../../src/core/placement.ts';
import type { KeyValue } from '../../../src/store/store.ts';
import type { SimulatedProcess } from '../process.ts';
import { type Answered, indexOf, type Oracle, type World, type Written } from './oracle.ts';

export interface ChangedPrimary {
  readonly unit: number;
  readonly head: Head;
  /** Undefined: the unit had no head. */
  readonly before: Head | undefined;
  /** The process that led the unit has its index still: it handed the unit over. */
  readonly isMove: boolean;
  /** It had lost its index, and a process with a copy of the unit has taken its place. */
  readonly isPromotion: boolean;
}

export class LedUnits implements Oracle {
  readonly #world: World;
  readonly #heads = new Map<number, { readonly modRevision: bigint; readonly head: Head }>();
  /** By token and revision of a stamp: the units that the owner led under it. */
  readonly #stamped = new Map<string, readonly number[]>();
  readonly #tokens = new WeakMap<SimulatedProcess, string>();

  constructor(world: World) {
    this.#world = world;
  }

  get all(): number[] {
    return Array.from({ length: this.#world.units }, (_, unit) => unit);
  }

  head(unit: number): Head | undefined {
    const entry = this.#world.get(this.#world.keys.head(unit));
    return entry && this.#parsed(unit, entry);
  }

  ledBy(token: string | undefined): number[] {
    return token === undefined ? [] : this.all.filter((unit) => this.head(unit)?.primary.token === token);
  }

  /** Units of which this process, live or not, has everything that was acknowledged. */
  countingOn(owner: Head['primary']): number[] {
    return this.all.filter((unit) => {
      const head = this.head(unit);
      return head !== undefined && isCountedOn(head, owner);
    });
  }

  /** Whether the store has the claim of this owner. */
  isLive({ index, token }: Head['primary']): boolean {
    return this.#world.get(this.#world.keys.ps(index))?.createRevision.toString() === token;
  }

  /** Of the last claim of the process. */
  tokenOf(process: SimulatedProcess): string | undefined {
    return this.#tokens.get(process);
  }

  /** The units that the request names by its stamp; undefined when it names none that the server ever led. */
  meant({ server, request }: Answered): readonly number[] | undefined {
    if (!('placement' in request) || request.placement === undefined) return undefined;
    return this.#stamped.get(`${this.tokenOf(server)}/${request.placement.revision}`);
  }

  wrote = ({ process, key }: Written): void => {
    const { keys } = this.#world;
    if (process.role !== 'pserver') return;
    if (key === keys.ps(indexOf(process))) {
      this.#tokens.set(process, this.#world.get(key)!.createRevision.toString());
    } else if (key.startsWith(keys.headsPrefix)) {
      const { primary } = this.head(Number(key.slice(keys.headsPrefix.length)))!;
      this.#stamp(primary.token);
    }
  };

  /** Undefined when the primary of a unit has not changed. */
  changed({ key, value, before }: Written): ChangedPrimary | undefined {
    const { keys } = this.#world;
    if (!key.startsWith(keys.headsPrefix)) return undefined;
    const head = parseHead(key, value);
    const last = before && parseHead(key, before.value);
    if (last?.primary.token === head.primary.token) return undefined;
    const unit = Number(key.slice(keys.headsPrefix.length));
    if (last !== undefined) this.#stamp(last.primary.token);
    const isMove = last !== undefined && this.isLive(last.primary);
    const isMember =
      last?.rest === undefined && last?.inSync.some(({ token }) => token === head.primary.token) === true;
    return { unit, head, before: last, isMove, isPromotion: !isMove && isMember };
  }

  /** A live process has everything that was acknowledged, whether it leads the unit yet or not. */
  hasCopy({ primary, inSync, rest }: Head): boolean {
    return this.isLive(primary) || (rest === undefined && inSync.some((member) => this.isLive(member)));
  }

  #stamp(token: string): void {
    const units = this.ledBy(token);
    const led = units.map((unit) => ({ unit, led: this.head(unit)!.led }));
    this.#stamped.set(`${token}/${stampOf(led, this.#world).revision}`, units);
  }

  #parsed(unit: number, { key, value, modRevision }: KeyValue): Head {
    const known = this.#heads.get(unit);
    if (known?.modRevision === modRevision) return known.head;
    const head = parseHead(key, value);
    this.#heads.set(unit, { modRevision, head });
    return head;
  }
}
