export { exp, log, log1p, pow, sin, cos, tanh, sigmoid } from './math';
