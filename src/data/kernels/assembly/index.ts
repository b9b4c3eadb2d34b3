export { parseCsv } from './csv';
export { hashRows } from './hash64';
export { parseLines } from './libsvm';
export { dedupe } from '../../../tensor/kernels/assembly/router';
