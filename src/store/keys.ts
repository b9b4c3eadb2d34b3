/**
 * Every key of the store, in one place (docs/store-keys.md says what each holds). Keys of one job live under its
 * chroot, by default `/paddlet/<job name>`, so that jobs never share a key.
 */
export const ROOT = '/paddlet/';

export const defaultChroot = (jobName: string): string => `${ROOT}${jobName}`;

export interface Keys {
  readonly chroot: string;
  /** The job: created once, never changed. */
  readonly job: string;
  /** What the processes of the job prove to each other to know. */
  readonly token: string;
  /** Points of the curves of training and evaluation, as `paddlet history` shows them. */
  readonly history: string;
  /** Models that are kept, and their scores, for jobs that are evaluated while they train. */
  readonly evaluation: string;
  /** How the job ended: the final object of `run --json`. Roles end when they see it. */
  readonly result: string;
  /** Asks the whole job to stop cleanly; acted on by roles that see it being put. */
  readonly stop: string;
  /** The command line that resumes the job, with its folder and machine. */
  readonly command: string;
  readonly masterLock: string;
  readonly masterAddr: string;
  /** The secret by which pservers recognize the master. */
  readonly masterSecret: string;
  /** The progress of the job: phase and pass. */
  readonly tasksState: string;
  readonly tasksPrefix: string;
  /** States of 256 tasks of a pass. */
  taskBlock(pass: number, block: number): string;
  taskBlocks(pass: number): string;
  /** The recovery number whose losses have been repaired. */
  readonly tasksReconciled: string;
  /** Sums of a pass that has ended. */
  passTotals(pass: number): string;
  readonly passTotalsPrefix: string;
  discardedTask(task: number): string;
  readonly discardedPrefix: string;
  /** A command before the first pass or after the last: running or done. */
  hook(phase: string, number: number | string): string;
  hooksPrefix(phase: string): string;
  /** The trainer that is to write the merged model, and after how many passes it is written. */
  readonly modelSave: string;
  /** The number of passes: raised when a job is continued. */
  readonly passesDesired: string;
  readonly psDesired: string;
  /** How many trainers a launcher keeps running, if that is another number than the job file's. */
  readonly trainersDesired: string;
  readonly psPrefix: string;
  ps(index: number): string;
  readonly pserversPrefix: string;
  pserver(index: number): string;
  readonly clusterStatus: string;
  /** The head of a unit of shards: {epoch, led, primary, inSync}, owners named by (index, token). */
  readonly headsPrefix: string;
  head(unit: number): string;
  replica(shard: number, replica: number): string;
  readonly replicasPrefix: string;
  readonly trainersPrefix: string;
  trainer(id: string): string;
  /** Raised by each pserver that loads parameters from before the last acknowledged push. */
  readonly recovery: string;
  readonly checkpointsPrefix: string;
  checkpoint(index: number): string;
  /** Sync mode: the last complete cut, and the timeline. Under the prefix of the pservers' entries. */
  readonly cut: string;
  /** Files of the models that are kept under a name. Under the prefix of the pservers' entries. */
  readonly kept: string;
  /** Files of a pserver that an operator has given up, in case they cannot be found. */
  forgotten(index: number): string;
  /** Snapshot that an owner wrote after it had lost its index, by its token. */
  parting(token: bigint): string;
  readonly partingPrefix: string;
  /** The last `paddlet restore`: heads older than this key count as those of its files. */
  readonly restored: string;
}

export function keysOf(chroot: string): Keys {
  const at = (path: string): string => `${chroot}/${path}`;
  return {
    chroot,
    job: at('job'),
    token: at('token'),
    history: at('history'),
    evaluation: at('evaluation'),
    result: at('result'),
    stop: at('stop'),
    masterLock: at('master/lock'),
    command: at('command'),
    masterAddr: at('master/addr'),
    masterSecret: at('master/secret'),
    tasksState: at('tasks/state'),
    tasksPrefix: at('tasks/'),
    taskBlock: (pass, block) => at(`tasks/blocks/${pass}/${block}`),
    taskBlocks: (pass) => at(`tasks/blocks/${pass}/`),
    tasksReconciled: at('tasks/reconciled'),
    passTotals: (pass) => at(`tasks/passes/${pass}`),
    passTotalsPrefix: at('tasks/passes/'),
    discardedTask: (task) => at(`tasks/discarded/${task}`),
    discardedPrefix: at('tasks/discarded/'),
    hook: (phase, number) => at(`hooks/${phase}/${number}`),
    hooksPrefix: (phase) => at(`hooks/${phase}/`),
    modelSave: at('model/save'),
    passesDesired: at('passes_desired'),
    psDesired: at('ps_desired'),
    trainersDesired: at('trainers_desired'),
    psPrefix: at('ps/'),
    ps: (index) => at(`ps/${index}`),
    pserversPrefix: at('pservers/'),
    pserver: (index) => at(`pservers/${index}`),
    clusterStatus: at('pserver_cluster_status'),
    headsPrefix: at('heads/'),
    head: (unit) => at(`heads/${unit}`),
    replica: (shard, replica) => at(`pshards/${shard}/${replica}`),
    replicasPrefix: at('pshards/'),
    trainersPrefix: at('trainer/'),
    trainer: (id) => at(`trainer/${id}`),
    recovery: at('recovery'),
    checkpointsPrefix: at('checkpoints/'),
    checkpoint: (index) => at(`checkpoints/${index}`),
    cut: at('checkpoints/cut'),
    kept: at('checkpoints/kept'),
    forgotten: (index) => at(`forgotten/${index}`),
    parting: (token) => at(`parting/${token}`),
    partingPrefix: at('parting/'),
    restored: at('restored'),
  };
}
