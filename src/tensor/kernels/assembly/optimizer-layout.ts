// The descriptor of an optimizer in memory: one for each table and dense parameter, read by every update of it.

export const SGD: u32 = 0;
export const MOMENTUM: u32 = 1;
export const ADAGRAD: u32 = 2;
export const ADAM: u32 = 3;
export const ADAMW: u32 = 4;
export const FTRL: u32 = 5;
export const COUNTER: u32 = 6; // of rows without values

/** Offsets in the descriptor. What an optimizer has no use for is 0, `keep` 1. */
export const O_FULL_RATE: usize = 0; // f64, as the job has it
export const O_LEARNING_RATE: usize = 8; // f64, scaled for one push
export const O_WEIGHT_DECAY: usize = 16; // f64
export const O_BETA1: usize = 24; // f64
export const O_BETA2: usize = 32; // f64
export const O_RATE: usize = 40; // f32, the scaled learning rate
export const O_KEEP: usize = 44; // f32, what AdamW leaves of a value: 1 - scaled rate × weight decay
export const O_L2: usize = 48; // f32
export const O_MOMENTUM: usize = 52; // f32
export const O_INITIAL_ACCUMULATOR: usize = 56; // f32
export const O_EPSILON: usize = 60; // f32
export const O_INVERSE_ALPHA: usize = 64; // f32
export const O_FTRL_BETA: usize = 68; // f32
export const O_LAMBDA1: usize = 72; // f32
export const O_LAMBDA2: usize = 76; // f32
export const O_KIND: usize = 80;
export const O_SLOTS: usize = 84; // slots of n floats that follow n values
export const O_STEPS: usize = 88; // 1 when rows and blocks count their updates
export const O_SIZE: u32 = 96;
