// Sparse tables. A table is cut into shards; each present shard has a small hash table of its own, a part, so that
// growth copies the index of one shard of one table and moves no row.
//
// A row: u64 id, width values, the optimizer's slots of width floats each, u32 step if updates are counted, u32 `seen`
// in tables that have one (docs/decisions/0168); its size is a multiple of 8. A removed row has FREED as its `seen`,
// and in the place of its id the address of the next free row of its part.
// An index entry: address of the row (a multiple of 8) with 3 bits of the hash in its low bits; 0 is free. Linear
// probing from a position that no sender can know (`firstPosition`), at most 3/4 full. So a row of 16 floats under SGD
// takes 72 bytes and 5.3 to 10.7 of index.

/** All sizes in bytes. Offsets in a table's descriptor: */
export const T_HASH: usize = 0; // u64
export const T_KEY: usize = 8; // u64, of the initializer
export const T_A: usize = 16; // f64
export const T_B: usize = 24; // f64
export const T_KIND: usize = 32;
export const T_WIDTH: usize = 36;
export const T_STRIDE: usize = 40;
export const T_STEP: usize = 44; // offset of the step in a row
export const T_SHARDS: usize = 48;
export const T_DIRECTORY: usize = 52; // u32[shards]: the part, 0 when the shard is absent
export const T_OPTIMIZER: usize = 56; // descriptor (optimizer-layout.ts)
export const T_MULTIPLIER: usize = 64; // u64, odd and random: of the index
export const T_SEEN: usize = 72; // offset of `seen` in a row; 0: rows have none
export const T_SIZE: u32 = 80;

/** Offsets in a part, one shard of one table: */
export const P_INDEX: usize = 0;
export const P_SHIFT: usize = 4; // of the index (hash.ts)
export const P_ROWS: usize = 8;
export const P_NEXT_ROW: usize = 12; // where the next row goes,
export const P_ROWS_END: usize = 16; // up to here; then the spare segments
export const P_SPARE: usize = 20;
export const P_FREE_ROWS: usize = 24; // in the open segment and the spare ones
export const P_SEGMENTS: usize = 28;
export const P_BYTES: usize = 32;
export const P_PENDING: usize = 36; // rows that the push at hand will add
export const P_TOUCHED: usize = 40;
export const P_TABLE: usize = 44;
export const P_SIZE: u32 = 48;
/** In tables with `seen` alone: */
export const P_FREED: usize = 48; // the first removed row; 0: none
export const P_SIZE_WITH_SEEN: u32 = 56;

/** Offsets in a segment of rows: */
export const S_NEXT: usize = 0;
export const S_BYTES: usize = 4;
export const S_NEXT_SPARE: usize = 8;
export const S_OPENED: usize = 12; // 1 from when its first row is added
export const S_HEADER: u32 = 16;

/** `seen` of a removed row. No other row has it. */
export const FREED: u32 = 0xffffffff;

export const ROW_VALUES: u32 = 8;
export const SMALLEST_INDEX: u32 = 8;
export const SEGMENT_BYTES: u32 = 65536;
export const SMALLEST_SEGMENT_ROWS: u32 = 8;
export const TAG_SHIFT: u32 = 29;
export const TAG_MASK: u32 = 7;

/** An index of two free entries, for parts without rows. */
export const EMPTY_INDEX: usize = memory.data(8);
export const EMPTY_SHIFT: u32 = 63;
