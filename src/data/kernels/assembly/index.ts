export { hashRows, hashSpans, hashWholes } from './hash64';
export { parseLines } from './libsvm';
export { parseCsv, parseInteractions, parseJson } from './lines';
export { dedupe } from '../../../tensor/kernels/assembly/router';
