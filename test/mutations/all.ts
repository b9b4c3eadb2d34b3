/** All mutations. `scripts/mutations.ts` applies each in a copy of the source, and demands that something notices. */
import { ADMISSION } from './admission.ts';
import { COMPARED_COPIES } from './compared-copies.ts';
import { COPIED_ROUNDS } from './copied-rounds.ts';
import { COPIES } from './copies.ts';
import { DATA } from './data.ts';
import { DELTAS } from './deltas.ts';
import { ENDLESS } from './endless.ts';
import { EVALUATION } from './evaluation.ts';
import { EVICTIONS } from './evictions.ts';
import { FILES } from './files.ts';
import { HEADS } from './heads.ts';
import { HISTORY } from './history.ts';
import { JOINS } from './joins.ts';
import { LAST_ROUNDS } from './last-rounds.ts';
import { MODELS } from './models.ts';
import { MOVES } from './moves.ts';
import { MOVING } from './moving.ts';
import type { Mutation } from './mutation.ts';
import { OPERATIONS } from './operations.ts';
import { OWNERSHIP } from './ownership.ts';
import { PACKINGS } from './packings.ts';
import { PARQUET_FILES } from './parquet.ts';
import { PARTING } from './parting.ts';
import { PEER_CONNECTIONS } from './peer-connections.ts';
import { PEER_LINKS } from './peer-links.ts';
import { PLACING } from './placing.ts';
import { PLANS } from './plans.ts';
import { PROOF_OF_DEATH } from './proof-of-death.ts';
import { PSERVER_REPLICAS } from './pserver-replicas.ts';
import { PULLED_ROWS } from './pulled-rows.ts';
import { REMOVED_ROWS } from './removed-rows.ts';
import { REPLICAS } from './replicas.ts';
import { REPLICATE } from './replicate.ts';
import { ROUNDS } from './rounds.ts';
import { SCHEDULES } from './schedules.ts';
import { TASKS } from './tasks.ts';
import { VIEWING } from './viewing.ts';
import { WIRE } from './wire.ts';

export const MUTATIONS: readonly Mutation[] = [
  ...OWNERSHIP,
  ...DATA,
  ...DELTAS,
  ...PACKINGS,
  ...PARQUET_FILES,
  ...MODELS,
  ...PULLED_ROWS,
  ...REMOVED_ROWS,
  ...ADMISSION,
  ...TASKS,
  ...HISTORY,
  ...ROUNDS,
  ...SCHEDULES,
  ...EVALUATION,
  ...ENDLESS,
  ...EVICTIONS,
  ...PLACING,
  ...MOVES,
  ...MOVING,
  ...JOINS,
  ...LAST_ROUNDS,
  ...REPLICAS,
  ...HEADS,
  ...PEER_LINKS,
  ...REPLICATE,
  ...PEER_CONNECTIONS,
  ...COPIES,
  ...COPIED_ROUNDS,
  ...COMPARED_COPIES,
  ...PSERVER_REPLICAS,
  ...PLANS,
  ...PROOF_OF_DEATH,
  ...FILES,
  ...PARTING,
  ...OPERATIONS,
  ...WIRE,
  ...VIEWING,
];
