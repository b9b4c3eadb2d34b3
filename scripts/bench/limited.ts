/**
 * `npx node scripts/bench/limited.ts [--seconds 20] [--rows 200000] [--ids 5000] [--drift 0.1]`: pushes to one table in
 * memory while ids keep arriving (Zipf 1.05 over 10 million ranks; 1,000 pushes are a day), with admission and a bound
 * beside none, in turns: pulls and pushes a second, the longest push, rows, and memory beside the bound. With `--only
 * bound`, resident memory of the process is that of one table.
 */
import { parseArgs } from 'node:util';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { type Admission, memoryFactor } from '../../src/tensor/admission/admission.ts';
import { type Parameters, SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';
import { drawIds } from './endless/drifting-days.ts';
import { resident } from './resident.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    rows: { type: 'string', default: '200000' },
    ids: { type: 'string', default: '5000' },
    drift: { type: 'string', default: '0.1' },
    only: { type: 'string' },
  },
});
const SHARDS = 32;
const WIDTH = 8;
const PUSHES_OF_A_DAY = 1000;
/** Until tables are at their bound, and the compilers have seen everything. */
const WARM_PUSHES = 300;
const ADAGRAD = { type: 'adagrad', learningRate: 0.1, initialAccumulator: 0.1, epsilon: 1e-7, l2: 0 } as const;
const count = Number(values.ids);
const bytesOfRow = 8 + 4 * WIDTH * 2 + 4;
const shardBytes = Math.floor((Number(values.rows) * bytesOfRow) / SHARDS);

interface Rules {
  readonly admission?: Admission;
  readonly shardBytes?: number;
  readonly hasSeen: boolean;
}
const POLICIES: Readonly<Record<string, Rules>> = {
  none: { hasSeen: false },
  bound: { shardBytes, hasSeen: true },
  'count 2, bound': { admission: { type: 'count', min: 2 }, shardBytes, hasSeen: true },
  'probability 0.2, bound': { admission: { type: 'probability', p: 0.2 }, shardBytes, hasSeen: true },
};

class Contestant {
  readonly name: string;
  readonly #rules: Rules;
  readonly #parameters: Parameters;
  readonly #actions = new Uint8Array(SHARDS).fill(SHARD_ACTION.apply);
  readonly #gradients = new Uint8Array(new Float32Array(count * WIDTH).fill(0.01).buffer);
  readonly #into = new Uint8Array(4 * WIDTH * count);
  readonly #reservedBefore: number;
  #pushes = 0;
  #measured = 0;
  #ms = 0;
  #longestMs = 0;
  #mostBytes = 0;

  constructor(name: string, rules: Rules) {
    this.name = name;
    this.#rules = rules;
    const initializer = { type: 'uniform', low: -0.1, high: 0.1 } as const;
    const sparse = [{ name: 'rows', width: WIDTH, initializer, optimizer: ADAGRAD, ...rules }];
    this.#parameters = createParameters({ spec: { dense: [], sparse }, seed: 1, shards: SHARDS, recallsPulls: true });
    for (let shard = 0; shard < SHARDS; shard++) this.#parameters.addShard(shard);
    this.#reservedBefore = this.#parameters.stats().reservedBytes;
  }

  step(ids: Uint8Array): void {
    const name = { pass: 0, task: 0, push: this.#pushes++ };
    const seen = new Uint32Array(SHARDS).fill(this.#pushes);
    const startMs = performance.now();
    this.#parameters.pullSparse(0, ids, this.#into);
    const pulledMs = performance.now();
    this.#parameters.push([{ table: 0, ids, gradients: this.#gradients }], [], this.#actions, { seen, name });
    const endMs = performance.now();
    if (this.#pushes <= WARM_PUSHES) return;
    this.#measured += 1;
    this.#ms += endMs - startMs;
    this.#longestMs = Math.max(this.#longestMs, endMs - pulledMs);
    this.#mostBytes = Math.max(this.#mostBytes, this.#parameters.stats().bytes);
  }

  result(): { readonly perSecond: number; readonly text: string } {
    const perSecond = (1000 * this.#measured) / this.#ms;
    const { rows, reservedBytes } = this.#parameters.stats();
    const { admission } = this.#rules;
    const bound = this.#rules.shardBytes === undefined ? undefined : this.#rules.shardBytes * SHARDS;
    const times = (bytes: number): string => (bytes / (bound ?? Number.NaN)).toFixed(2);
    const memory =
      bound === undefined
        ? `${((reservedBytes - this.#reservedBefore) / 1e6).toFixed(0)} MB`
        : `${times(this.#mostBytes)} × bound, reserved ${times(reservedBytes - this.#reservedBefore)}, factor ${memoryFactor(bytesOfRow, admission?.type === 'count').toFixed(2)}`;
    const text = `${perSecond.toFixed(0)} pulls and pushes/s, longest push ${this.#longestMs.toFixed(1)} ms, ${rows} rows, ${memory}`;
    return { perSecond, text };
  }
}

const chosen = Object.entries(POLICIES).filter(([name]) => (values.only ?? name) === name);
if (chosen.length === 0) throw new Error(`--only: expected one of ${Object.keys(POLICIES).join('; ')}`);
const residentBefore = resident().rssMiB;
const contestants = chosen.map(([name, rules]) => new Contestant(name, rules));
const random = createRandomStream(1);
const options = { ranks: 10_000_000, exponent: 1.05, drift: Number(values.drift) };
const endMs = performance.now() + 1000 * Number(values.seconds);
let pushes = 0;
for (; performance.now() < endMs || pushes < 2 * WARM_PUSHES; pushes++) {
  const drawn = drawIds(count, pushes / PUSHES_OF_A_DAY, random, options);
  const ids = new Uint8Array(BigUint64Array.from(drawn, BigInt).buffer);
  for (const one of contestants) one.step(ids);
}
const [none] = contestants.map((one) => one.result());
const residentMiB = resident().rssMiB - residentBefore;
process.stdout.write(
  `${pushes} pushes of ${count} ids, ${residentMiB.toFixed(0)} MiB more resident memory than before\n`,
);
for (const one of contestants) {
  const { perSecond, text } = one.result();
  process.stdout.write(`${one.name.padEnd(24)} ${(perSecond / none!.perSecond).toFixed(2)}  ${text}\n`);
}
