// Admission: which ids of a push get a row, in tables with candidates, with a probability or with a bound
// (docs/decisions/0168). A push goes through these functions in their order; between `judgeRows` and
// `expectAdmitted`, the caller refuses what the bound has no room for.
//
// A candidate is a row of a second table of the same name: width 0, so u64 id, u32 count and u32 `seen`. It is in the
// part of the same shard.

import { philox } from './philox';
import { removeRow } from './removal';
import { findRow, hashIn, initialValues, partOf, seenOffset, shardIn, stepOffset, widthOf } from './table';
import { addRow, expectRow } from './table-growth';

/** What a push does with an id. Some of these numbers are in src/tensor/admission/limited-table.ts, too. */
const ROW: u8 = 0; // the id has a row, or its shard skips the push
const NEW_ROW: u8 = 1;
const PROMOTED: u8 = 2; // a candidate that gets a row
const COUNTED: u8 = 3; // a candidate that stays one
const NEW_CANDIDATE: u8 = 4;
const NOT_ADMITTED: u8 = 5;

/** What `locateRows` writes (rows.ts). */
const ABSENT: u32 = 0;
const SKIPPED: u32 = 1;

/** By shard, a u32 for each fate: how many ids of a push have it. */
const TALLY_BYTES: u32 = 24;

/** Fourth word of the counter of a draw; 1 and 2 are those of initial values (initializer.ts). */
const DRAW: u32 = 3;
const words: usize = memory.data(16, 16);

/**
 * Decides about n located ids: `fates` gets a u8 for each, `places` the address of a candidate or 0, `tallies` is
 * added to. If `candidates` is not 0, an id gets its row when `min` updates have named it. Otherwise it gets a row if
 * its draw, a u32, is below `chances`; with 2^32 always.
 */
export function judgeRows(
  table: u32,
  candidates: u32,
  min: u32,
  chances: u64,
  key: u64,
  draw: u32,
  ids: usize,
  n: u32,
  located: usize,
  fates: usize,
  places: usize,
  tallies: usize,
): void {
  for (let i: u32 = 0; i < n; i++) {
    store<u32>(places + (i << 2), 0);
    store<u8>(fates + i, ROW);
    const row = load<u32>(located + (i << 2));
    if (row == SKIPPED) continue;
    const id = load<u64>(ids + (i << 3));
    const hash = hashIn(table, id);
    let fate = ROW;
    if (row == ABSENT) {
      if (candidates != 0) {
        const candidate = findRow(candidates, partOf(candidates, hash), hash, id);
        store<u32>(places + (i << 2), candidate);
        const count: u32 = candidate == ABSENT ? 0 : load<u32>(candidate + stepOffset(candidates));
        const isFull = count + 1 >= min;
        if (candidate == ABSENT) fate = isFull ? NEW_ROW : NEW_CANDIDATE;
        else fate = isFull ? PROMOTED : COUNTED;
      } else {
        fate = chances >> 32 != 0 || <u64>drawFor(key, id, draw) < chances ? NEW_ROW : NOT_ADMITTED;
      }
      store<u8>(fates + i, fate);
    }
    const tally = tallies + shardIn(table, hash) * TALLY_BYTES + (<u32>fate << 2);
    store<u32>(tally, load<u32>(tally) + 1);
  }
}

function drawFor(key: u64, id: u64, draw: u32): u32 {
  philox(words, key, <u32>id, <u32>(id >> 32), draw, DRAW);
  return load<u32>(words);
}

/** Writes the places of ids of a shard that would be new rows or new candidates. Returns their number. */
export function listNew(table: u32, shard: u32, ids: usize, n: u32, fates: usize, out: usize): u32 {
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const fate = load<u8>(fates + i);
    if (fate != NEW_ROW && fate != PROMOTED && fate != NEW_CANDIDATE) continue;
    if (shardIn(table, hashIn(table, load<u64>(ids + (i << 3)))) != shard) continue;
    store<u32>(out + (count << 2), i);
    count++;
  }
  return count;
}

/** Expects the new rows and candidates. An id that gets no row is located as skipped. */
export function expectAdmitted(table: u32, candidates: u32, ids: usize, n: u32, fates: usize, located: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const fate = load<u8>(fates + i);
    if (fate == ROW) continue;
    if (fate >= COUNTED) store<u32>(located + (i << 2), SKIPPED);
    if (fate == COUNTED || fate == NOT_ADMITTED) continue;
    const hash = hashIn(table, load<u64>(ids + (i << 3)));
    expectRow(partOf(fate == NEW_CANDIDATE ? candidates : table, hash));
  }
}

/** Before evictions: gives the named candidates their new `seen`, so that they are not the least recent ones. */
export function markCandidates(candidates: u32, ids: usize, n: u32, places: usize, seen: usize): void {
  const offset = seenOffset(candidates);
  for (let i: u32 = 0; i < n; i++) {
    const candidate = load<u32>(places + (i << 2));
    if (candidate == 0) continue;
    const shard = shardIn(candidates, hashIn(candidates, load<u64>(ids + (i << 3))));
    store<u32>(candidate + offset, load<u32>(seen + (shard << 2)));
  }
}

/**
 * Counts the update for the candidates that it names. New ones are added: room was reserved. Promoted ones go. `seen`
 * has a u32 for each shard.
 */
export function countCandidates(
  candidates: u32,
  ids: usize,
  n: u32,
  fates: usize,
  places: usize,
  seen: usize,
): void {
  const counts = stepOffset(candidates);
  const offset = seenOffset(candidates);
  for (let i: u32 = 0; i < n; i++) {
    const fate = load<u8>(fates + i);
    if (fate != PROMOTED && fate != COUNTED && fate != NEW_CANDIDATE) continue;
    const id = load<u64>(ids + (i << 3));
    const hash = hashIn(candidates, id);
    const part = partOf(candidates, hash);
    if (fate == PROMOTED) {
      removeRow(part, id);
      continue;
    }
    let candidate = load<u32>(places + (i << 2));
    if (fate == COUNTED) {
      store<u32>(candidate + counts, load<u32>(candidate + counts) + 1);
    } else {
      candidate = addRow(part, hash, id);
      store<u32>(candidate + counts, 1);
    }
    store<u32>(candidate + offset, load<u32>(seen + (shardIn(candidates, hash) << 2)));
  }
}

/** Writes the initial values of ids without a row into the old values of a push, a row for each id at `old`. */
export function initialOld(table: u32, ids: usize, n: u32, fates: usize, old: usize): void {
  const bytes = widthOf(table) << 2;
  for (let i: u32 = 0; i < n; i++) {
    if (load<u8>(fates + i) >= COUNTED) initialValues(table, load<u64>(ids + (i << 3)), old + i * bytes);
  }
}
