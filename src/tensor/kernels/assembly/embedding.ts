// Rows of a table that the features of a record look up, put together: those of each slot are summed, or averaged. The
// slot of a feature is its field, or 0 where features have none. Sums are f32 in the order of the features; a product
// of a row and the value of its feature is rounded before it is added.

@inline function slotOf(fields: usize, feature: u32): u32 {
  return fields == 0 ? 0 : <u32>load<u16>(fields + (feature << 1));
}

@inline function valueOf(values: usize, feature: u32): f32 {
  return values == 0 ? 1 : load<f32>(values + (feature << 2));
}

/** For each slot 1 / the number of features that it has in the record, and 1 where sums are wanted. */
function writeShares(fields: usize, first: u32, end: u32, slots: u32, isMean: bool, shares: usize): void {
  for (let slot: u32 = 0; slot < slots; slot++) store<f32>(shares + (slot << 2), isMean ? 0 : 1);
  if (!isMean) return;
  for (let feature = first; feature < end; feature++) {
    const slot = slotOf(fields, feature);
    if (slot < slots) store<f32>(shares + (slot << 2), load<f32>(shares + (slot << 2)) + 1);
  }
  for (let slot: u32 = 0; slot < slots; slot++) {
    store<f32>(shares + (slot << 2), 1 / max<f32>(load<f32>(shares + (slot << 2)), 1));
  }
}

/** Adds to a row: to += scale × from. */
@inline function addScaled(width: u32, scale: f32, from: usize, to: usize): void {
  const scales = f32x4.splat(scale);
  const end = to + (width << 2);
  for (; to + 16 <= end; to += 16, from += 16) {
    v128.store(to, f32x4.add(v128.load(to), f32x4.mul(scales, v128.load(from))));
  }
  for (; to < end; to += 4, from += 4) store<f32>(to, load<f32>(to) + scale * load<f32>(from));
}

/**
 * `outputs` [records × slots × width]. `values` is 0 when all are 1, `fields` when there is one slot; features of an
 * unknown slot are passed over. `shares`: f32[slots]. A feature counts f32(value × share).
 */
export function poolRows(
  records: u32,
  offsets: usize,
  rows: usize,
  values: usize,
  fields: usize,
  table: usize,
  width: u32,
  slots: u32,
  isMean: bool,
  shares: usize,
  outputs: usize,
): void {
  const rowBytes = <usize>width << 2;
  const outputBytes = slots * rowBytes;
  memory.fill(outputs, 0, records * outputBytes);
  for (let record: u32 = 0; record < records; record++) {
    const first = load<u32>(offsets + (record << 2));
    const end = load<u32>(offsets + (record << 2), 4);
    writeShares(fields, first, end, slots, isMean, shares);
    for (let feature = first; feature < end; feature++) {
      const slot = slotOf(fields, feature);
      if (slot >= slots) continue;
      const scale = valueOf(values, feature) * load<f32>(shares + (slot << 2));
      addScaled(width, scale, table + load<u32>(rows + (feature << 2)) * rowBytes, outputs + slot * rowBytes);
    }
    outputs += outputBytes;
  }
}

/** The gradient of each distinct row: `to` [distinct × width]. */
export function poolGradient(
  records: u32,
  offsets: usize,
  rows: usize,
  values: usize,
  fields: usize,
  distinct: u32,
  width: u32,
  slots: u32,
  isMean: bool,
  shares: usize,
  gradient: usize,
  to: usize,
): void {
  const rowBytes = <usize>width << 2;
  memory.fill(to, 0, distinct * rowBytes);
  for (let record: u32 = 0; record < records; record++) {
    const first = load<u32>(offsets + (record << 2));
    const end = load<u32>(offsets + (record << 2), 4);
    writeShares(fields, first, end, slots, isMean, shares);
    for (let feature = first; feature < end; feature++) {
      const slot = slotOf(fields, feature);
      if (slot >= slots) continue;
      const scale = valueOf(values, feature) * load<f32>(shares + (slot << 2));
      addScaled(width, scale, gradient + slot * rowBytes, to + load<u32>(rows + (feature << 2)) * rowBytes);
    }
    gradient += slots * rowBytes;
  }
}
