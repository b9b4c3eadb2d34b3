/**
 * `paddlet restore` 2 → 3 → 1 → 2 pservers of a table of 5 million rows, then verify, diff, inspect --digest and
 * export: seconds and greatest memory of each process, and that the digests are equal.
 *
 *   node scripts/bench/restore.ts [ROWS] [WIDTH]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDurableFolder } from '../../src/base/files.ts';
import { createCheckpointWriter } from '../../src/checkpoint/file/extent-writer.ts';
import type { CheckpointMeta } from '../../src/checkpoint/file/format.ts';
import { createLedger } from '../../src/core/shard/ledger.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import { plannedShards } from '../../test/checkpoint/cluster-fixture.ts';

const ROWS = Number(process.argv[2] ?? 5_000_000);
const WIDTH = Number(process.argv[3] ?? 8);
const SHARDS = 512;
const PIECE = 1_000_000;
const folder = mkdtempSync(join(tmpdir(), 'paddlet-restore-'));
const disk = createDisk();

/** Ids of each shard, spread over all 64 bits, ascending. */
function idsByShard(): BigUint64Array[] {
  const router = createIdRouter({ shards: SHARDS });
  const identity = Int32Array.from({ length: SHARDS }, (_, shard) => shard);
  const step = 0xffff_ffff_ffff_ffffn / BigInt(ROWS);
  const parts: BigUint64Array[][] = Array.from({ length: SHARDS }, () => []);
  for (let from = 0; from < ROWS; from += PIECE) {
    const count = Math.min(PIECE, ROWS - from);
    const ids = BigUint64Array.from({ length: count }, (_, at) => BigInt(from + at) * step);
    for (const route of router.route('emb', new Uint8Array(ids.buffer), count, identity)) {
      parts[route.pserver]!.push(new BigUint64Array(route.ids.slice().buffer));
    }
  }
  return parts.map((pieces) => {
    const all = new BigUint64Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  });
}

const ADAGRAD = { type: 'adagrad', learningRate: 0.1, initialAccumulator: 0.1, epsilon: 1e-8, l2: 0 } as const;

async function generate(pservers: number): Promise<string> {
  const ids = idsByShard();
  const ledger = createLedger(100).encode();
  const target = join(folder, 'made');
  for (let index = 0; index < pservers; index++) {
    const uuid = `00000000-0000-4000-8000-00000000000${index}`;
    const meta: CheckpointMeta = {
      ...{ uuid, jobId: '6f8d2c1a-0000-4000-8000-00000000000a', jobName: 'bench', index, token: 5n },
      ...{ recovery: 0n, timeline: 0n, kind: 'full', clean: true, createdAt: 1_700_000_000, seed: 1, shards: SHARDS },
      parameters: {
        dense: [],
        sparse: [{ name: 'emb', width: WIDTH, initializer: { type: 'zeros' }, optimizer: ADAGRAD }],
      },
    };
    await makeDurableFolder(disk, join(target, String(index)));
    const file = await disk.create(join(target, String(index), uuid));
    const mine = plannedShards(index, pservers, SHARDS);
    const expectedBytes = (ROWS * (8 + 8 * WIDTH)) / pservers;
    const writer = await createCheckpointWriter({ file, meta, shards: mine.length, expectedBytes });
    for (const shard of mine) {
      const own = ids[shard]!;
      const values = Float32Array.from({ length: own.length * WIDTH }, (_, at) => Math.fround(at / 7 - shard));
      const accumulator = values.map((value) => value * value);
      const rows = { ids: own, values, slots: { accumulator }, steps: undefined };
      await writer.add({ shard, epoch: 1, seq: 1000, ledger, tables: [rows], blocks: [] });
    }
    await writer.finish();
    await file.close();
  }
  return target;
}

interface Ran {
  readonly seconds: number;
  readonly megabytes: number;
  readonly result: Record<string, unknown>;
}

/** Runs a command, watching the most memory that it had, as Linux counts it. */
function paddlet(...args: string[]): Promise<Ran> {
  const begin = performance.now();
  const entry = join(import.meta.dirname, '../../bin/paddlet.ts');
  const child = spawn(process.execPath, [entry, ...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let kilobytes = 0;
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      kilobytes = Math.max(kilobytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    } catch {
      // It has ended: what was seen last stands.
    }
  }, 50);
  let out = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  return new Promise((done, reject) => {
    child.on('close', (code) => {
      clearInterval(watch);
      if (code !== 0) return reject(new Error(`${args.join(' ')}: exit code ${code}: ${out}`));
      const seconds = (performance.now() - begin) / 1000;
      done({ seconds, megabytes: kilobytes / 1024, result: JSON.parse(out) });
    });
  });
}

function say(what: string, { seconds, megabytes }: Ran): void {
  process.stdout.write(
    `${what.padEnd(28)} ${seconds.toFixed(1).padStart(6)} s ${megabytes.toFixed(0).padStart(5)} MB\n`,
  );
}

try {
  const made = await generate(2);
  const bytes = [0, 1].map(
    (index) => statSync(join(made, `${index}/00000000-0000-4000-8000-00000000000${index}`)).size,
  );
  process.stdout.write(`${ROWS} rows of ${WIDTH}, adagrad: ${((bytes[0]! + bytes[1]!) / 1e6).toFixed(0)} MB\n`);
  let from = made;
  const proofs: string[] = [];
  for (const pservers of [3, 1, 2]) {
    const to = join(folder, `to-${pservers}`);
    const ran = await paddlet('restore', '--from', from, '--to', to, '--pservers', String(pservers));
    proofs.push(JSON.stringify(ran.result.proof));
    say(`restore to ${pservers}`, ran);
    if (from !== made) rmSync(from, { recursive: true });
    from = to;
  }
  process.stdout.write(`proofs equal: ${new Set(proofs).size === 1}\n`);
  say('verify', await paddlet('checkpoint', 'verify', from));
  const diff = await paddlet('checkpoint', 'diff', made, from);
  say(`diff (same: ${diff.result.same})`, diff);
  say('inspect', await paddlet('checkpoint', 'inspect', from));
  say('inspect --digest', await paddlet('checkpoint', 'inspect', from, '--digest'));
  for (const format of ['safetensors', 'npz', 'csv']) {
    const out = join(folder, `model-${format}`);
    say(`export ${format}`, await paddlet('checkpoint', 'export', from, '--as', format, '--output', out));
    rmSync(out, { recursive: true });
  }
} finally {
  rmSync(folder, { recursive: true });
}
