export { parseLines } from './libsvm';
export { dedupe } from '../../../tensor/kernels/assembly/router';
