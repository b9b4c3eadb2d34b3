/** What other programs call the fields of a job file: PyTorch, Keras, scikit-learn, XGBoost and their relatives. */

/** By the field, as dotted paths. How the words of a name are joined does not count. */
export const OTHER_NAMES: Readonly<Record<string, string>> = {
  'cluster.pservers': 'num_pservers n_ps num_ps parameter_servers servers num_servers',
  'cluster.trainers': 'num_trainers n_trainers workers num_workers n_workers n_jobs n_thread n_threads world_size',
  'checkpoint.dir': 'checkpoint_dir checkpoint_path output_dir model_dir',
  'checkpoint.everyBatches': 'save_steps save_every_steps save_checkpoints_steps',
  'checkpoint.keep': 'save_total_limit max_to_keep keep_checkpoint_max',
  'data.format': 'file_format data_format input_format',
  'data.record': 'record_format record_type',
  'data.split.test': 'test_size validation_split test_split valid_split val_split validation_fraction',
  'data.test': 'test_data test_files test_path validation_data eval_data eval_set val_data',
  'data.train': 'train_data training_data train_files train_path dataset',
  'evaluation.metric': 'eval_metric scoring metrics monitor',
  'evaluation.minDelta': 'tol tolerance',
  'evaluation.patience': 'early_stopping early_stopping_rounds early_stopping_patience n_iter_no_change',
  'model.dropout': 'dropout_rate dropout_p p_dropout',
  'model.embedding': 'embedding_dim embedding_size embed_dim',
  'model.factors': 'k rank n_factors num_factors latent_dim',
  'model.hidden': 'hidden_layer_sizes hidden_sizes hidden_units hidden_layers hidden_dim layer_sizes dnn_hidden_units',
  'model.initStddev': 'init_std init_stdev initializer_range',
  'model.task': 'loss objective criterion loss_function',
  'optimizer.epsilon': 'eps',
  'optimizer.initialAccumulator': 'initial_accumulator_value',
  'optimizer.lambda1': 'l1 reg_alpha l1_reg l1_regularization l1_regularization_strength',
  'optimizer.learningRate': 'lr eta eta0 learning_rate_init learning_rate step_size',
  'optimizer.type': 'solver optim optimizer_name optimizer_type',
  'training.batchSize': 'batch mini_batch mini_batch_size train_batch_size per_device_train_batch_size batch_size',
  'training.classWeights': 'class_weight pos_weight scale_pos_weight',
  'training.maxGradientNorm': 'clip_norm global_clip_norm grad_clip gradient_clip max_grad_norm gradient_clip_val',
  'training.mode': 'async sync asynchronous synchronous',
  'training.passes': 'epochs epoch n_epochs num_epochs max_epochs num_train_epochs max_iter n_iter num_passes n_passes',
  'training.schedule': 'scheduler lr_scheduler lr_schedule learning_rate_schedule lr_decay',
  'training.schedule.warmup': 'warmup_steps warmup_epochs warmup_ratio num_warmup_steps',
  'training.seed': 'random_state random_seed rng_seed',
  'warmStart.from': 'init_from init_model init_checkpoint xgb_model',
};

/** Names differ in how their words are joined: `batch_size`, `batch-size` and `batchSize` are the same. */
export const plain = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase();

/** The field that another program calls so, dotted. */
export function byOtherName(name: string): string | undefined {
  const looked = plain(name);
  return Object.keys(OTHER_NAMES).find((field) =>
    OTHER_NAMES[field]?.split(' ').some((other) => plain(other) === looked),
  );
}
