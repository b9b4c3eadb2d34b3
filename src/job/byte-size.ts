/** Sizes as users write them: a number and its unit, `512MB`, `1.5GiB`, `800kB`; or a number of bytes. */
const UNIT_BYTES: Readonly<Record<string, number>> = {
  ...{ B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  ...{ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
};

/** Bytes, rounded to whole ones; undefined when the text is not a size. */
export function parseByteSize(text: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$/.exec(text.trim());
  const unitBytes = UNIT_BYTES[match?.[2] ?? ''];
  if (match === null || unitBytes === undefined) return undefined;
  return Math.round(Number(match[1]) * unitBytes);
}
