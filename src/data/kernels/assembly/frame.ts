// What lines of text are read by, and to where. `formats/text/kernel-memory.ts` writes it.

/** Group id of a record without a group. */
export const NO_GROUP: u64 = u64.MAX_VALUE;

/** What a call is given and what it leaves, at an address; `formats/text/kernel-frame.ts` has the same numbers. */
@unmanaged
export class Frame {
  /** The text: where the next line begins, and its end, after a line break. */
  at: u32;
  end: u32;
  /** Lines before the one at `at`. */
  line: u32;
  /** Records still to be read. */
  quota: u32;
  /** Where the text begins, and where it ended before it was given its last line break. */
  textFrom: u32;
  textTo: u32;
  /** A `Field` for each of a line. */
  fields: u32;
  fieldCount: u32;
  /** Above 255 where there is none. */
  delimiter: u32;
  quote: u32;
  comment: u32;
  /** The decimal point. */
  point: u32;
  /** Texts of what is missing: `missingCount` times its address and its length, in u32. */
  missing: u32;
  missingCount: u32;
  /** 0: ±1 or 0; 1: a class; 2: any number. */
  labelRule: u32;
  classes: u32;
  /** `LabelText`s, at their hash or the next free place; `labelMask` is their number less one. */
  labelTexts: u32;
  labelMask: u32;
  /** Label of a text that is not among them; NaN if such a text is bad. */
  labelOther: f32;
  /** For each record: its line, and where it begins and ends in the text. */
  lines: u32;
  starts: u32;
  ends: u32;
  /** Ids of all lists, and how many there are. */
  ids: u32;
  idCount: u32;
  /** What was read. */
  records: u32;
  /** Position from which the spans of texts count. */
  spansFrom: u32;
  /** Bit n: a text of what is missing has n bytes; bit 63: 63 or more. */
  missingLengths: u64;
  /** JSON: the `Key`s, the whole record first; where each of the others is by its hash or at the next free place. */
  keys: u32;
  keyCount: u32;
  keyPlaces: u32;
  keyMask: u32;
  /** How many of them have a field. */
  leafCount: u32;
  /** Stamp of the record that is being read: the keys that the record has carry the stamp. */
  stamp: u32;
  /** Number of keys with a field that carry the stamp. */
  taken: u32;
  /** Whether a number may be a text of what is missing. */
  numbersMayMiss: u32;
  /** A blank that is none, as it divides; above 255 where there is none. */
  notBlank: u32;
  /** Whether the delimiter divides only where it is there twice. */
  isDouble: u32;
  /** Whether a text of a label is a number. */
  labelsAreNumbers: u32;
}

/** What becomes of a field. */
@unmanaged
export class Field {
  kind: u32;
  /** Where its values are put, that of the first record first. */
  out: u32;
  /** `LIST`: `out` has where the ids of each record begin, this where they end. `TEXT`: the same of bytes. */
  outEnds: u32;
  /** `LIST`: the byte between ids, above 255 if there is none; and the maximum number of ids. */
  separator: u32;
  most: u32;
  /** `LIST`: whether they are whole numbers, whether these are hashed. */
  isWhole: u32;
  isHashed: u32;
  reserved: u32;
  seed: u64;
  /** `SINGLE`: of what is missing. */
  missingId: u64;
  /** 0: none. */
  buckets: u64;
}

export const FIELD_BYTES: usize = offsetof<Field>();

/** A key of an object that is read, or the whole record. */
@unmanaged
export class Key {
  /** The object that has it. */
  parent: u32;
  /** Start and length of its text. */
  from: u32;
  length: u32;
  /** The `Field` of its value; 0 when its value is an object. */
  field: u32;
  /** Stamp of the record that had the key last. */
  stamp: u32;
  /** The key that came behind it then, and the first one in its object: they will probably come again. */
  next: u32;
  first: u32;
  reserved: u32;
}

export const KEY_BYTES: usize = offsetof<Key>();

@unmanaged
export class LabelText {
  from: u32;
  length: u32;
  label: f32;
  isUsed: u32;
  /** The number that the text is; NaN if it is not a number. */
  number: f64;
}

export const LABEL_TEXT_BYTES: usize = offsetof<LabelText>();

/** What a `Field` is. */
export const IGNORED: u32 = 0;
export const NUMBER: u32 = 1;
export const NUMBER_NEEDED: u32 = 2;
export const SINGLE: u32 = 3;
export const LIST: u32 = 4;
export const LABEL_NUMBER: u32 = 5;
export const LABEL_TEXT: u32 = 6;
export const WEIGHT: u32 = 7;
export const GROUP_WHOLE: u32 = 8;
export const GROUP_HASHED: u32 = 9;
export const TEXT: u32 = 10;

/** All lines are read. */
export const DONE: u32 = 0;
/** As many records as wanted are read, and another one comes at `at`. */
export const FULL: u32 = 1;
/** The line at `at` is bad, or for the plain form. */
export const UNUSUAL: u32 = 2;
