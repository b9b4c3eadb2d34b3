/**
 * Every bound of the system, in one place, with how they relate (checked by test/base/limits.test.ts).
 * A size or count that comes from outside is compared with one of these before anything is allocated.
 */
const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  /** One WebSocket message, header and segments together. */
  frameBytes: 256 * MiB,
  /** The CBOR header of a frame. */
  frameHeaderBytes: 1 * MiB,
  /** Raw segments in a frame. */
  frameSegments: 4096,
  /** Requests that one connection may have unanswered. */
  requestsInFlight: 1024,
  /** Requests in flight that may let later requests of the same type start before they are answered. */
  passingRequests: 16,
  /** Calls that wait on one channel for a connection or for room; more are refused with `Overloaded`. */
  requestsWaiting: 16_384,
  /** Bytes of unanswered requests, and of answers not yet taken, that one connection may have before it pushes back. */
  sendQueueBytes: 512 * MiB,
  /** The same of all connections of a role together, and frames on their way in. More is refused with `Overloaded`. */
  heldBytes: 4096 * MiB,
  connectionsPerRole: 4096,
  /** Connections of a role that have not joined, probes among them. For one more the oldest of them is cut. */
  unjoinedConnections: 512,
  /** From a connection to the end of joining, or of a plain HTTP request. */
  unjoinedMs: 10_000,
  /** A frame before both ends have joined. */
  joinFrameBytes: 1 * KiB,
  joinTokenBytes: 32,
  joinNonceBytes: 32,
  /** An HMAC-SHA256. */
  joinProofBytes: 32,
  /** How often a role reads the join token again because strangers bring wrong proofs. */
  joinTokenReadMs: 1_000,

  /** Browsers that look at a job at a time. */
  viewers: 64,
  /** The only text that a browser sends. */
  viewerTextBytes: 1 * KiB,
  viewerPathCharacters: 4096,
  /** A browser that has answered no ping for so long is cut off. */
  viewerPatienceMs: 30_000,
  /** The body of an answer that refuses a handshake. */
  refusalBytes: 4 * KiB,
  /** Versions that a refusal repeats. */
  offeredVersions: 8,
  /** Memory kept for reuse by all connections of a process: slabs for small payloads, batches to be sent. */
  spareSlabs: 8,
  spareBatches: 64,
  /** A header of a refused request, as the log shows it. */
  shownHeaderCharacters: 300,
  /** Unix sockets of killed roles that one start removes. */
  sweptSockets: 256,
  /**
   * Kernel memory of a pserver that payloads may occupy at a time. It is there for parameters and does not shrink.
   * Payloads beyond it land in ordinary memory and are copied when their turn comes.
   */
  landedBytes: 256 * MiB,

  /** Ids, codes and other names in a message, in characters. */
  nameCharacters: 256,
  /** A 64-bit number as decimal text. */
  decimalDigits: 20,
  /** The message and the hint of an error answer; longer ones are cut. */
  errorCharacters: 8192,
  /** Why a task, a lane or a model failed, as a trainer reports it. */
  failureCharacters: 4096,
  /** The path of a data file, below the data folder. */
  dataPathCharacters: 4096,
  /** Where a trainer has written the merged model. */
  modelPathCharacters: 8192,
  /** How long one request may wait at its receiver. */
  longPollMs: 60_000,
  /** How long a trainer that is chosen to write the model may be silent: four times the longest `cluster.leaseTtl`. */
  saveModelBlockMs: 14_400_000,
  /**
   * How long a trainer that is chosen to write the model may take at most, however large the model is and however often
   * it failed (core/save-election.ts): six hours, 40 GB at 2 MB/s.
   */
  saveModelMs: 21_600_000,
  /** Tasks that one `position` request may ask for. */
  positionTasks: 1024,
  /** Tasks that one `closeTasks` request may close. */
  closedTasksAtOnce: 10_000,
  /** How often an attempt may have computed each record of its task, as its trainer reports it. */
  timesComputed: 10_000,
  /** Attempts that a trainer may name as held, many times `tasksHeld`. */
  heldAttempts: 256,
  /** A part of a shard on its way to another pserver: above the largest row or block with its state. */
  movePieceBytes: 8 * MiB,
  /** A part of a checkpoint file that one `readFile` request may ask for. */
  fileReadBytes: 4 * MiB,
  /** What the target of a move may answer to one message. */
  moveAnswers: 16,
  /**
   * What one update may carry to other copies: a frame has room for it beside what the frame states about all units.
   */
  replicatedBytes: 252 * MiB,
  /** The window that a backup may give to a primary. */
  replicaWindowBytes: 256 * MiB,
  /**
   * Updates that the beginnings of one `replicate` request may name together: more than one window holds, however small
   * they are.
   */
  replicaTails: 2 ** 21,
  /** Runs of one epoch in them: an epoch ends only when the copies of a unit change. */
  replicaTailRuns: 65_536,
  /** Units that one answer tells the copies of. */
  shownUnits: 512,
  /** Digests of copies that a pserver may be asked for at a time. */
  digestsWaiting: 256,
  /** Rows that one `scanRows` request may ask for. */
  scannedRows: 1_000_000,
  /**
   * Good records of test files whose scores are kept, for an exact AUC and metrics of groups: 8 to 20 bytes each, and
   * four times as much when they are sorted.
   */
  exactAucRecords: 10_000_000,
  /** Records of a group that a ranking is judged by. */
  topK: 1000,
  /** Stored tables: each table, and its candidates (stored-tables.ts). */
  storedTables: 2 * 1024,
  /** Begins of passes of a shard that a file may have. */
  keptBegins: 4096,
  /** Passes after which a row may count as unseen. A shard keeps the begins of these passes and of later ones. */
  unseenPasses: 1024,
  /** Updates after which a row may count as unseen. */
  unseenUpdates: 1_000_000_000,
  /** The largest bound of a table. */
  tableBytes: 2 ** 50,
  /** Updates that an admission rule may count. */
  admissionCount: 1_000_000,
  /** Size of the deltas on a base, as a share of the base. */
  deltaShare: 10,
  /** Older bases that are kept beside deltas: a key lists each with up to 32 deltas, and etcd takes 1.5 MB. */
  keptWithDeltas: 20,
  /** Sums of metrics that a pserver keeps in sync mode: of passes, and of the job at some rounds. */
  keptMetrics: 196,
  /** Points of a curve of training, and of evaluations: the value of `/history` is below `historyBytes` then. */
  historyPoints: 512,
  evaluationPoints: 128,
  /** Bytes of the points about tables in the value of `/history`. */
  tableHistoryBytes: 48 * KiB,
  /** Names of evaluations and of their metrics. */
  evaluationCharacters: 32,
  historyBytes: 256 * KiB,

  /** etcd's own limits, enforced by every store. */
  storeTxnOps: 128,
  storeValueBytes: 1_500_000,
  storeKeyBytes: 4 * KiB,
  /**
   * Keys and values of one transaction together: etcd takes requests of 1.5 MiB, the rest is left for its own encoding.
   */
  storeTxnBytes: 1_540_000,

  shards: 65_536,
  /** Groups of shards that move together; each has a key in the store. */
  units: 4096,
  pservers: 1024,
  /** Copies of a unit. */
  replicas: 5,
  passes: 1_000_000,
  trainers: 4096,
  lanes: 4096,
  parameters: 1024,
  parameterNameBytes: 128,
  denseElements: 2 ** 31,
  rowWidth: 65_536,
  layerUnits: 65_536,
  hiddenLayers: 64,
  layers: 256,
  /** Floats of a layer's output for each record. */
  layerFloats: 2 ** 20,
  layerNameCharacters: 64,
  batchRecords: 1_048_576,
  /** How much more a record of a class may count. */
  classWeight: 1_000_000_000,
  tasks: 10_000_000,
  /** Tasks to replay after which a slice of repairs ends with its pass: with `tasks`, below what a `Map` can hold. */
  repairedTasks: 1_000_000,
  /**
   * Tasks of a queue that a trainer holds at a time: one it works on, those that it reads ahead or finishes. Only
   * of tasks that take a few milliseconds a trainer holds so many.
   */
  tasksHeld: 24,
  /** Threads of a trainer: one trains, and each of the others parses one of the tasks that are read ahead. */
  trainerThreads: 4,
  /** Unreported attempts at tasks, ended or not, that are counted; beyond this number, the oldest are dropped. */
  unreportedAttempts: 65_536,
  /** Pulls on their way before the mini-batch before them is computed. */
  pullAhead: 64,

  /** Pages of 64 KiB in kernel memory: one less than 4 GiB, so that no address arithmetic in 32 bits can wrap. */
  kernelMemoryPages: 65_535,
  /** One allocation in kernel memory: above any block that the allocator gives, below what would wrap in 32 bits. */
  kernelAllocationBytes: 0xe000_0000,

  /** Data files of a job. */
  dataFiles: 1_000_000,
  /** Data files that a reader of tasks keeps open: a small part of what a process may have, often 1024. */
  openDataFiles: 16,
  /** Folders in folders of data: deeper than any real layout, where a loop of symbolic links ends. */
  dataFolderDepth: 32,
  /** Inputs of a dense record: more than any image that a linear model takes. */
  denseInputs: 1_048_576,
  /** Features and factors of synthetic data, whose planted weights are kept in memory. */
  syntheticFeatures: 10_000_000,
  syntheticFactors: 64,
  /** A line of text data. */
  recordBytes: 16 * MiB,
  featuresPerRecord: 1_048_576,
  /** What a pserver keeps of its last pulls, so that their pushes and rounds find the rows at once: 12 bytes a row. */
  pulledRowsBytes: 16 * MiB,
  /** Text that the kernel takes at a time, in up to 18 times as much memory; a longer line is parsed without it. */
  kernelTextBytes: 4 * MiB,
  /** Records that a parser of columns hands on at once. */
  pieceRecords: 4096,
  /** Inputs of all records of a task with columns. */
  taskInputs: 2 ** 28,
  /** Columns of a job, and fields of a line. */
  columns: 4096,
  /** Fields that features may be of; a column is one. */
  fields: 4096,
  columnNameCharacters: 1024,
  /** Texts of labels that one list names. */
  columnTexts: 4096,
  /** Texts that mean that there is no value; columns of a cross. */
  missingTexts: 64,
  crossColumns: 8,
  /** Parts that a number is divided into. */
  quantiles: 256,
  /** The same of all columns of a job: their bounds are in its record. */
  allQuantiles: 16_384,
  /** Values of one column of a record. */
  listValues: 65_536,
  /** What a Parquet file says of itself at its end; the numbers and texts in it, a few dozen bytes of memory each. */
  parquetFooterBytes: 32 * MiB,
  parquetFooterValues: 2 ** 23,
  /** Groups in groups of its schema, and structs in structs of its metadata. */
  parquetDepth: 64,
  /** Records of a row group, which is decoded at once. */
  parquetGroupRows: 2 ** 23,
  /** Places of a decimal behind its point, and bytes of it: 256 bits. */
  parquetDecimalDigits: 76,
  parquetDecimalBytes: 32,
  /** Values of all columns that are read of a row group, in up to 16 bytes each. */
  parquetGroupValues: 2 ** 27,
  /** Bytes of one column of a row group, before and after decompression. */
  parquetChunkBytes: 512 * MiB,
  /** Elements of the lists in one column of a row group. */
  parquetChunkValues: 2 ** 25,
  /** The window of a zstd frame, which its reader holds in memory, is at most two to this power (128 MiB). */
  zstdWindowLog: 27,
  /** The body of a chunk of a RecordIO file, before and after decompression; its writers use 1 to 32 MiB. */
  recordioChunkBytes: 128 * MiB,
  recordioChunkRecords: 2 ** 22,
  /** What may be read in vain as chunks that are none, beyond what is passed, before the rest of a file is given up. */
  recordioSearchedBytes: 256 * MiB,
  /** Corrupt chunks of a file that are logged. */
  loggedCorruptChunks: 20,
  /** What a columns file says of its columns. */
  columnsHeaderBytes: 32 * MiB,
  /** Why a record is bad, in a columns file. */
  reasonCharacters: 1024,
  /** Keys that lead to the value of a column; objects and arrays of JSON in one another. */
  pathKeys: 16,
  jsonDepth: 512,
  /** Values of a line of JSON, those that no column needs included. */
  jsonValues: 1_048_576,
  /** Features of a mini-batch whose ids the kernel numbers, in up to 120 MB of memory; more are numbered without it. */
  kernelIds: 4 * 1024 * 1024,
  /** The file of a parsed task in the data cache; a larger one is not kept. */
  parsedBlockBytes: 1024 * MiB,
  /** Parsed tasks that a trainer keeps in memory. */
  parsedMemoryBytes: 64 * MiB,
  /** Memory of finished tasks that a thread keeps for its next ones. */
  spareMemoryBytes: 64 * MiB,
  /** What parsed tasks leave free on the disk of the cache: checkpoints may be on it. */
  keptFreeBytes: 1024 * MiB,
  /** Bytes at which a log file of `paddlet run` is rotated, and the number of older files that are kept. */
  logFileBytes: 64 * MiB,
  leastLogFileBytes: 4 * KiB,
  oldLogFiles: 3,
  /** What a child printed beside its log, of which the end is appended to that. */
  childOutputBytes: 1 * MiB,
  /** Warnings and errors that a process tells to all who ask for `info`, and the text of one. */
  toldErrors: 5,
  toldErrorCharacters: 300,
  /** Bad records that a process logs. */
  loggedBadRecords: 20,
  /** Bad records of one task that a file lists, and such files of a job on a machine. */
  listedBadRecords: 1_000,
  badRecordFiles: 1_000,
  jobFileBytes: 1 * MiB,
  /** Paths in one list of a job file. */
  jobPaths: 65_536,
  jobPathCharacters: 4096,
  /** Commands in one list of `hooks`, and the text of one. */
  hookCommands: 100,
  hookCharacters: 65_536,
  /** The command line that started a job, and its folder. */
  commandCharacters: 65_536,
  /** How long a fail point may stop a process: an hour. */
  failDelayMs: 3_600_000,
  /** Files of one pserver that its key in the store may list. */
  checkpointGenerations: 10_000,
  /** Models of one job that are kept under a name: the best, the newest, and the one that is being scored. */
  keptModels: 64,
  /** Files that a manifest of a kept model may list. */
  manifestFiles: 100_000,
  /** Bytes of a manifest of a kept model. */
  manifestBytes: 64 * 1024 * 1024,
  /** Files that a delta may build on. */
  deltaParents: 64,
  /** Files that a pserver may be told to continue without. */
  forgottenFiles: 20_000,
  /** Blocks of one dense parameter in one extent of a checkpoint file. */
  denseBlocks: 2 ** 22,
  denseBlockFloats: 2 ** 26,
  denseDimensions: 8,
  /** The ledger of one shard in a checkpoint file. */
  ledgerBytes: 256 * MiB,
  /** The record of the job in a checkpoint file: a value of the store, with room for numbers that changed since. */
  carriedJobCharacters: 2_000_000,
  /** What an optimizer may keep beside each value. */
  optimizerSlots: 16,
  optimizerSlotCharacters: 64,
  /** A safetensors header: the reference reader's own bound. */
  safetensorsHeaderBytes: 100_000_000,
} as const;
