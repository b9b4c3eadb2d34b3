/** Searches all worlds of a model, breadth first: nothing may be wrong in any, and from each a way leads to the end. */

/** What can happen in a world. */
export interface Step<W> {
  readonly to: W;
  /** For the way to what is wrong; without it the world is told. */
  readonly name?: string;
  /** No process may rely on it. */
  readonly isFault: boolean;
}

export interface Model<W> {
  readonly first: W;
  /** Equal for equal worlds only. */
  readonly keyOf: (world: W) => string;
  /** Throws when something is wrong in this world. */
  readonly inspect: (world: W) => void;
  readonly stepsFrom: (world: W) => readonly Step<W>[];
  readonly isEnd: (world: W) => boolean;
}

export interface Searched {
  readonly worlds: number;
  readonly ends: number;
  /** False when there are more worlds than the most asked for: then ends are not looked for. */
  readonly isComplete: boolean;
}

/** Throws with the shortest way to what is wrong. */
export function search<W>(model: Model<W>, most = Number.POSITIVE_INFINITY): Searched {
  const known = new Map<string, number>();
  const worlds: W[] = [];
  const cameFrom: number[] = [];
  const names: (string | undefined)[] = [];
  /** From where steps that may be relied on lead here. */
  const relied: number[][] = [];
  const numberOf = (world: W, from: number, name: string | undefined): number => {
    const key = model.keyOf(world);
    const number = known.get(key);
    if (number !== undefined) return number;
    known.set(key, worlds.length);
    cameFrom.push(from);
    names.push(name);
    relied.push([]);
    return worlds.push(world) - 1;
  };
  const trace = (at: number): string => {
    const way: string[] = [JSON.stringify(worlds[at])];
    for (let step = at; step > 0; step = cameFrom[step]!) way.push(names[step] ?? JSON.stringify(worlds[step]));
    return way.reverse().join('\n');
  };
  numberOf(model.first, -1, undefined);
  let at = 0;
  for (; at < worlds.length && worlds.length < most; at++) {
    try {
      model.inspect(worlds[at]!);
      for (const { to, name, isFault } of model.stepsFrom(worlds[at]!)) {
        const number = numberOf(to, at, name);
        if (!isFault && number !== at) relied[number]!.push(at);
      }
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${trace(at)}`, { cause: error });
    }
  }
  if (at < worlds.length) return { worlds: worlds.length, ends: 0, isComplete: false };
  const { ends, stuck } = endsOf(model, worlds, relied);
  if (stuck !== undefined) throw new Error(`from here no way leads to the end\n${trace(stuck)}`);
  return { worlds: worlds.length, ends, isComplete: true };
}

function endsOf<W>({ isEnd }: Model<W>, worlds: readonly W[], relied: readonly (readonly number[])[]) {
  const reaches = new Uint8Array(worlds.length);
  const open = [...worlds.keys()].filter((at) => isEnd(worlds[at]!));
  const ends = open.length;
  for (const at of open) reaches[at] = 1;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const before of relied[at]!) {
      if (reaches[before] === 1) continue;
      reaches[before] = 1;
      open.push(before);
    }
  }
  const stuck = reaches.indexOf(0);
  return { ends, stuck: stuck === -1 ? undefined : stuck };
}
