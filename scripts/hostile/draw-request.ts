/**
 * Draws requests that are well-formed and wrong: each field is a value that the client has seen somewhere, an edge of
 * what the schema allows, or any value between. The schemas are those of the messages themselves, so a new message is
 * drawn without a change here.
 */
import * as z from 'zod';
import type { RandomStream } from '../../src/data/synth/random-stream.ts';
import { MESSAGES, type RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { KnownValues } from './known-values.ts';

/** As much of JSON Schema as the messages use. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

const REQUESTS = Object.values(MESSAGES).map(
  ({ request }) => z.toJSONSchema(request, { unrepresentable: 'any' }) as Schema,
);

export const MESSAGE_TYPES: readonly string[] = REQUESTS.map(({ properties }) => String(properties?.type?.const));

/** Shares of the sources of a value; the rest is drawn from the whole range. */
const SEEN = 0.75;
const EDGE = 0.15;
/** Every request names these; with others it is refused before anything else is looked at. */
const NAMED_BY_ALL: readonly string[] = ['job', 'batchPlanId'];
const NAMED_RIGHT = 0.98;
/** Lists longer than this only make a request slow. */
const ITEMS = 4;

export class RequestDrawer {
  readonly #random: RandomStream;
  readonly #known: KnownValues;

  constructor(random: RandomStream, known: KnownValues) {
    this.#random = random;
    this.#known = known;
  }

  /** One of these messages, or of all. */
  draw(types: readonly string[] = MESSAGE_TYPES): RequestHeader {
    const type = this.pick(types);
    const message = REQUESTS.find(({ properties }) => properties?.type?.const === type);
    if (message === undefined) throw new Error(`no message ${type}`);
    return this.#map(message) as RequestHeader;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  below(bound: number): number {
    return Math.floor(this.#random.uniform() * bound);
  }

  #chance(share: number): boolean {
    return this.#random.uniform() < share;
  }

  #map({ properties = {}, required = [] }: Schema): Record<string, unknown> {
    const drawn: Record<string, unknown> = {};
    for (const [field, schema] of Object.entries(properties)) {
      if (required.includes(field) || this.#chance(0.5)) drawn[field] = this.#value(field, schema);
    }
    return drawn;
  }

  #value(field: string, schema: Schema): unknown {
    if (schema.const !== undefined) return schema.const;
    if (schema.oneOf !== undefined) return this.#value(field, this.pick(schema.oneOf));
    const seen = this.#known.of(field, schema.type === 'integer' ? 'number' : (schema.type ?? 'string'));
    const how = this.#random.uniform();
    const share = NAMED_BY_ALL.includes(field) ? NAMED_RIGHT : SEEN;
    if (seen.length > 0 && how < share) return this.#near(this.pick(seen));
    if (schema.enum !== undefined) return this.pick(schema.enum);
    switch (schema.type) {
      case 'integer':
      case 'number':
        return how < SEEN + EDGE ? this.#edge(schema) : this.#number(schema);
      case 'boolean':
        return this.#chance(0.5);
      case 'string':
        return this.#text(schema);
      case 'array':
        return this.#list(field, schema);
      case 'object':
        return this.#map(schema);
      default:
        throw new Error(`no way to draw ${field}: ${JSON.stringify(schema)}`);
    }
  }

  /** A number that was seen, or one beside it. */
  #near(value: unknown): unknown {
    if (typeof value !== 'number' || this.#chance(0.7)) return value;
    return Math.max(0, value + this.pick([-1, 1, 2, 1000]));
  }

  #edge({ type, minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Schema): number {
    if (type === 'number') return this.pick([0, -1, 1e308, -1e308, 5e-324]);
    return this.pick([minimum, minimum + 1, maximum, maximum - 1].filter((edge) => edge <= maximum));
  }

  #number({ type, minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Schema): number {
    if (type === 'number') return (this.#random.uniform() - 0.5) * 1e6;
    return minimum + this.below(Math.min(maximum - minimum, 10_000) + 1);
  }

  #text({ pattern, minLength = 0, maxLength = 40 }: Schema): string {
    if (pattern?.includes('\\d') === true) return String(this.below(2 ** 40));
    const length = Math.max(minLength, this.pick([minLength, 1, Math.min(maxLength, 300)]));
    return this.pick(['a', '/', '0', 'é']).repeat(length).slice(0, maxLength);
  }

  #list(field: string, { items = {}, maxItems = ITEMS }: Schema): unknown[] {
    return Array.from({ length: this.below(Math.min(maxItems, ITEMS) + 1) }, () => this.#value(field, items));
  }
}
