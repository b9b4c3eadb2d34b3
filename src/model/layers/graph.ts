/** From a list of layers to what runs: each layer with its place, its parameters, and where gradients go. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { Layer } from './layer.ts';
import { createLayer, inputsOf, type LayerFacts, type LayerSpec } from './specs.ts';

export interface PlacedLayer {
  readonly layer: Layer;
  /** Numbers of the layers that it reads. */
  readonly inputs: readonly number[];
  /** Number of its first dense parameter in the model. */
  readonly firstDense: number;
  /** Number of its table in the model. */
  readonly table: number | undefined;
  /** Whether something is learned in it or before it. */
  readonly learns: boolean;
  /**
   * How the gradient of each input comes about on the way back: not at all, as this layer's alone so far, or added to
   * that of layers behind this one.
   */
  readonly gradientsTo: readonly ('none' | 'first' | 'added')[];
}

export interface Graph {
  readonly layers: readonly PlacedLayer[];
  readonly parameters: ParameterSpec;
  /** For each table, the sparse input of batches that it looks up. */
  readonly lookups: readonly number[];
  /** For each sparse input, its columns; undefined if the data has no columns. */
  readonly columns: readonly (readonly string[] | undefined)[];
  /** What a layer reads of the numbers of a record, if one does: how many, and of which columns. */
  readonly numbers: { readonly width: number; readonly columns: readonly string[] | undefined } | undefined;
}

const refuse = (message: string, hint?: string): never => {
  throw new PaddletError('JobInvalid', message, hint === undefined ? {} : { hint });
};

/** Throws `JobInvalid`. */
export function createGraph(specs: readonly LayerSpec[], facts: LayerFacts): Graph {
  const names = namesOf(specs);
  const layers: Layer[] = [];
  const inputs: number[][] = [];
  specs.forEach((spec, number) => {
    const own = inputNumbers(spec, number, names);
    const read = own.map((input) => layers[input]!);
    const layer = createLayer(names[number]!, spec, read, facts);
    if (layer.width > LIMITS.layerFloats) {
      refuse(`expected at most ${LIMITS.layerFloats} floats per record in the layer ${layer.name}, got ${layer.width}`);
    }
    layers.push(layer);
    inputs.push(own);
  });
  const ofData = widthsOfData(specs, inputs);
  refuseWidths(specs, layers, inputs, (number) => facts.isOutline === true && ofData[number]!);
  const { outputs } = facts;
  const last = layers.at(-1) ?? refuse('a model has at least one layer');
  // How many classes there are is not known of an outline.
  if (last.width !== outputs && !(facts.isOutline === true && (outputs > 1 || ofData.at(-1)))) {
    const hint = 'the last layer of type dense, without units, has one unit per output';
    refuse(`expected the number of outputs of the last layer, ${last.name}, to be ${outputs}, got ${last.width}`, hint);
  }
  const unused = names.find((_, number) => number < layers.length - 1 && !inputs.some((own) => own.includes(number)));
  if (unused !== undefined) refuse(`no other layer reads the layer ${unused}`, 'list it in `from` of a later layer');
  const readers = layers.filter((_, number) => specs[number]!.type === 'numbers');
  if (readers.length > 1) refuse(`expected at most one layer of type numbers, got ${readers.length}`);
  const graph = placed(layers, inputs);
  if (!graph.layers.at(-1)!.learns) refuse('no layer has parameters to train', 'add a layer of type dense');
  return { ...graph, numbers: readers[0] && { width: readers[0].width, columns: readers[0].numbers } };
}

/** Whether the data decides how wide each layer is. */
function widthsOfData(specs: readonly LayerSpec[], inputs: readonly (readonly number[])[]): boolean[] {
  const ofData: boolean[] = [];
  specs.forEach((spec, number) => {
    if (spec.type === 'numbers') ofData.push(true);
    else if (spec.type === 'dense') ofData.push(spec.units === undefined);
    else ofData.push(spec.type !== 'fm' && inputs[number]!.some((input) => ofData[input]));
  });
  return ofData;
}

/** `mayDiffer`: of a layer whose width is not known yet. */
function refuseWidths(
  specs: readonly LayerSpec[],
  layers: readonly Layer[],
  inputs: readonly (readonly number[])[],
  mayDiffer: (number: number) => boolean,
): void {
  specs.forEach(({ type }, number) => {
    if (type !== 'add') return;
    const [first, ...others] = inputs[number]!.filter((input) => !mayDiffer(input)).map((input) => layers[input]!);
    const other = others.find(({ width }) => width !== first?.width);
    if (other === undefined) return;
    const widths = `${first?.name} has ${first?.width}, ${other.name} has ${other.width}`;
    refuse(`expected layers of equal width as inputs of ${layers[number]!.name}: ${widths}`);
  });
}

function namesOf(specs: readonly LayerSpec[]): string[] {
  const counts = new Map<string, number>();
  const names = specs.map(({ name, type }) => {
    const count = (counts.get(type) ?? 0) + 1;
    counts.set(type, count);
    return name ?? `${type}${count}`;
  });
  const twice = names.find((name, number) => names.indexOf(name) < number);
  if (twice !== undefined) refuse(`two layers have the name ${twice}`);
  return names;
}

function inputNumbers({ type, from }: LayerSpec, number: number, names: readonly string[]): number[] {
  const [wanted, name] = [inputsOf(type), names[number]!];
  if (wanted === 'none') {
    if (from !== undefined) refuse(`the layer ${name} reads the data: it has no \`from\``);
    return [];
  }
  const read = from === undefined ? [number - 1] : [from].flat().map((one) => names.indexOf(one));
  if (number === 0)
    refuse(`the first layer, ${name}, does not read the data`, 'start with a layer that reads the data');
  if (read.length === 0) refuse(`the layer ${name} does not read a layer`);
  const missing = read.findIndex((one) => one < 0 || one >= number);
  if (missing >= 0) {
    const what = [from].flat()[missing];
    const hint = `before it: ${names.slice(0, number).join(', ')}`;
    refuse(`the layer ${name} reads ${what}, but no earlier layer has that name`, hint);
  }
  if (new Set(read).size < read.length) refuse(`the layer ${name} reads the same layer twice`);
  if (wanted === 'one' && read.length !== 1) refuse(`expected one input of the layer ${name}, got ${read.length}`);
  return read;
}

function placed(layers: readonly Layer[], inputs: readonly number[][]): Omit<Graph, 'numbers'> {
  const learns: boolean[] = [];
  layers.forEach(({ dense, table }, number) => {
    learns.push(dense.length > 0 || table !== undefined || inputs[number]!.some((input) => learns[input]!));
  });
  let denseCount = 0;
  const tables = layers.flatMap(({ table }) => (table === undefined ? [] : [table]));
  const sets = new Map<string, { readonly number: number; readonly columns: readonly string[] | undefined }>();
  for (const { columns } of tables) {
    const key = JSON.stringify(columns ?? null);
    if (!sets.has(key)) sets.set(key, { number: sets.size, columns });
  }
  return {
    layers: layers.map((layer, number) => {
      const firstDense = denseCount;
      denseCount += layer.dense.length;
      return {
        layer,
        inputs: inputs[number]!,
        firstDense,
        table: layer.table && tables.indexOf(layer.table),
        learns: learns[number]!,
        gradientsTo: inputs[number]!.map((input) => {
          if (!learns[input]) return 'none';
          return inputs.slice(number + 1).some((later) => later.includes(input)) ? 'added' : 'first';
        }),
      };
    }),
    parameters: {
      dense: layers.flatMap(({ dense }) => dense),
      sparse: tables.map(({ name, width, initializer }) => ({ name, width, initializer })),
    },
    lookups: tables.map(({ columns }) => sets.get(JSON.stringify(columns ?? null))!.number),
    columns: [...sets.values()].map(({ columns }) => columns),
  };
}
