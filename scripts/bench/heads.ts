/**
 * Processor time of the heads of one small push and its reply, each written once and read once, beside a copy of as
 * many bytes: what templates of whole heads could save at most. Run: `npx node scripts/bench/heads.ts`.
 */
import { decodeHead, decodePreamble, encodeFrame, type Frame } from '../../src/protocol/frames/frame.ts';
import { median } from './figure.ts';
import { cpuMs } from './wire-peer.ts';

const TIMES = 20_000;
const ROUNDS = 15;

const parts = { dense: [{ parameter: 0 }], sparse: [{ table: 0 }] };
const placement = { revision: '4181977980169265943', shards: 256 };
const ofJob = { job: 'e6e63574-5198-41a3-ae97-cf52f2e066f2', batchPlanId: 'bench-cut-0123456789' };

function request(push: number): Frame {
  const position = { pass: 3, task: 20, push, last: false, good: 128 * push };
  const used = { revision: placement.revision, version: 100_000 + push };
  const header = { type: 'push', ...ofJob, ...position, placement, used, ...parts, pull: parts };
  return { kind: 'request', requestId: 1 + push, header, segments: [] };
}

function reply(push: number): Frame {
  const header = { type: 'push', outcome: 'applied', recovery: 0, version: 100_000 + push };
  return { kind: 'reply', requestId: 1 + push, header, segments: [] };
}

/** Microseconds for each of `TIMES`. */
function measure(work: (time: number) => void): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = cpuMs();
    for (let time = 0; time < TIMES; time++) work(time);
    return (1000 * (cpuMs() - before)) / TIMES;
  });
  return median(rounds);
}

const frames = Array.from({ length: 64 }, (_, push) => [request(push), reply(push)]).flat();
const encoded = frames.map((frame) => encodeFrame(frame).buffers[0]!);
const into = new Uint8Array(1024);
const at = (time: number): number => time % frames.length;

const write = measure((time) => void encodeFrame(frames[at(time)]!));
const read = measure((time) => {
  const bytes = encoded[at(time)]!;
  decodeHead(decodePreamble(bytes), bytes);
});
const copy = measure((time) => into.set(encoded[at(time)]!));
// A push has two heads: of the request and of the reply.
process.stdout.write(`both heads of a push: written ${(2 * write).toFixed(2)} us, read ${(2 * read).toFixed(2)} us, `);
process.stdout.write(`their bytes copied ${(2 * copy).toFixed(2)} us\n`);
