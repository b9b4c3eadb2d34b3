/**
 * What each command prints with `--json`, by its id: an object on a line. A promise to scripts, published as
 * docs/output.schema.json (scripts/generate-output-schema.ts). No command loads it: tests compare with it all that
 * commands print (test/printed-json.ts).
 */
import * as z from 'zod';
import * as checkpoints from './checkpoints.ts';
import * as cluster from './cluster.ts';
import * as data from './data.ts';
import { error } from './fields.ts';
import * as help from './help.ts';
import * as looks from './looks.ts';
import { status, verification } from './status.ts';
import * as train from './train.ts';

/** Commands that print several kinds of objects, or of lines, have a schema of each in a union. */
export const OUTPUTS: Readonly<Record<string, z.ZodType>> = {
  run: train.run,
  init: train.init,
  evaluate: train.evaluate,
  predict: train.predict,
  master: cluster.master,
  status: z.union([status, verification]),
  why: cluster.why,
  top: cluster.top,
  logs: cluster.logs,
  history: cluster.history,
  resize: cluster.resize,
  ui: cluster.ui,
  'token:view': cluster.viewToken,
  'token:rotate': cluster.rotateToken,
  jobs: cluster.jobs,
  'jobs:delete': cluster.deleteJob,
  stop: cluster.stop,
  'checkpoint:save': checkpoints.save,
  'checkpoint:inspect': checkpoints.inspect,
  'checkpoint:verify': checkpoints.verify,
  'checkpoint:ls': checkpoints.ls,
  'checkpoint:diff': checkpoints.diff,
  'checkpoint:export': checkpoints.exported,
  'checkpoint:forget': checkpoints.forget,
  restore: checkpoints.restore,
  'data:index': data.index,
  'data:convert': data.convert,
  'data:inspect': looks.inspect,
  'data:recordio:pack': data.packRecordio,
  'data:recordio:list': data.listRecordio,
  'data:recordio:cat': data.recordOfRecordio,
  'data:synth': data.synth,
  doctor: help.doctor,
  docs: help.docs,
  completion: help.completion,
};

export const ERROR = error;

/** JSON Schema (draft 2020-12): the outputs of each command in `$defs`, and `error`. */
export function outputJsonSchema(): Record<string, unknown> {
  const named = Object.entries({ ...OUTPUTS, error }).map(([id, schema]) => schema.meta({ id }));
  const { $schema, ...rest } = z.toJSONSchema(z.union(named));
  return { $schema, title: 'What paddlet prints with --json', ...rest };
}
