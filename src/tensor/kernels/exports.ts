/** What `assembly/index.ts` exports. Addresses come back signed: read them with `>>> 0`. */
export interface MathExports {
  exp(x: number): number;
  log(x: number): number;
  log1p(x: number): number;
  pow(x: number, y: number): number;
  sin(x: number): number;
  cos(x: number): number;
  tanh(x: number): number;
  sigmoid(x: number): number;
}

export interface KernelExports extends MathExports {}
