/** The Universal Scalability Law (N. J. Gunther, "Guerrilla Capacity Planning"): throughput of N
 * threads as `X(N) = λN / (1 + σ(N − 1) + κN(N − 1))`. σ is the share of the work that only one
 * thread does at a time, κ the cost of keeping each pair of threads coherent. @module */

/** Coefficients of the law. */
export interface ScalabilityModel {
  /** Requests per second of one thread: λ. */
  readonly rate: number;
  /** Contention: σ. */
  readonly sigma: number;
  /** Coherency: κ. */
  readonly kappa: number;
}

/** A measured throughput. */
export interface MeasuredPoint {
  readonly threads: number;
  /** Requests per second. */
  readonly rate: number;
}

/** Coefficients until a machine with many processors has been measured. */
export const assumed: Omit<ScalabilityModel, "rate"> = { sigma: 0.02, kappa: 0.00005 };

/** Returns the requests per second that a model expects of some threads. */
export function throughput({ rate, sigma, kappa }: ScalabilityModel, threads: number): number {
  const others = threads - 1;
  return rate * threads / (1 + sigma * others + kappa * threads * others);
}

/** Returns the number of threads beyond which throughput falls; `Infinity` without coherency cost. */
export function bestThreads({ sigma, kappa }: ScalabilityModel): number {
  return kappa === 0 ? Infinity : Math.max(1, Math.floor(Math.sqrt((1 - sigma) / kappa)));
}

/** A model by measurements. */
export interface FittedModel extends ScalabilityModel {
  /** Coefficients that the points determine; the others are assumed. */
  readonly fitted: readonly (keyof ScalabilityModel)[];
}

/** A term of `N / X(N) = (1 + σ(N − 1) + κN(N − 1)) / λ`. */
type Term = (threads: number) => number;
const sigmaTerm: Term = (threads) => threads - 1;
const kappaTerm: Term = (threads) => threads * (threads - 1);

/**
 * Fits a model by least squares of the relative error of `N / X`, which is linear in 1/λ, σ/λ and κ/λ.
 * Three numbers of threads determine all coefficients; two determine λ and σ, one λ. A coefficient that
 * would be negative is 0. Throws a `RangeError` without points.
 */
export function fitModel(
  points: readonly MeasuredPoint[],
  defaults: Omit<ScalabilityModel, "rate"> = assumed,
): FittedModel {
  const distinct = new Set(points.map(({ threads }) => threads)).size;
  if (distinct === 0) throw new RangeError("a model needs a measured point");
  const { sigma, kappa } = defaults;
  if (distinct === 1) return { ...solve(points, { sigma, kappa }), fitted: ["rate"] };
  if (distinct === 2) {
    const free = solve(points, { kappa });
    const model = free.sigma < 0 ? solve(points, { sigma: 0, kappa }) : free;
    return { ...model, fitted: ["rate", "sigma"] };
  }
  const candidates = [{}, { kappa: 0 }, { sigma: 0 }, { sigma: 0, kappa: 0 }]
    .map((fixed) => solve(points, fixed))
    .filter((model) => model.rate > 0 && model.sigma >= 0 && model.kappa >= 0);
  const errors = candidates.map((model) => squaredError(model, points));
  const best = candidates[errors.indexOf(Math.min(...errors))]!;
  return { ...best, fitted: ["rate", "sigma", "kappa"] };
}

/** Returns the relative errors of a model at points: 0.1 where it expects a tenth too much. */
export function modelErrors(
  model: ScalabilityModel,
  points: readonly MeasuredPoint[],
): readonly number[] {
  return points.map(({ threads, rate }) => throughput(model, threads) / rate - 1);
}

/** What {@linkcode fitModel} minimizes. */
function squaredError(model: ScalabilityModel, points: readonly MeasuredPoint[]): number {
  return points.map(({ threads, rate }) => rate / throughput(model, threads) - 1)
    .reduce((sum, error) => sum + error ** 2, 0);
}

/** Solves for the coefficients that are not fixed. */
function solve(
  points: readonly MeasuredPoint[],
  fixed: { readonly sigma?: number; readonly kappa?: number },
): ScalabilityModel {
  const { sigma, kappa } = fixed;
  const terms: readonly Term[] = [
    (threads) => 1 + (sigma ?? 0) * sigmaTerm(threads) + (kappa ?? 0) * kappaTerm(threads),
    ...(sigma === undefined ? [sigmaTerm] : []),
    ...(kappa === undefined ? [kappaTerm] : []),
  ];
  // Each row is divided by N / X, so that all points count alike.
  const rows = points.map(({ threads, rate }) =>
    terms.map((term) => term(threads) * rate / threads)
  );
  const [inverse, ...rest] = leastSquares(rows, rows.map(() => 1));
  const free = rest.map((coefficient) => coefficient / inverse!);
  return {
    rate: 1 / inverse!,
    sigma: sigma ?? free.shift()!,
    kappa: kappa ?? free.shift()!,
  };
}

/** Minimizes `|rows · x − values|²` by the normal equations. */
function leastSquares(
  rows: readonly (readonly number[])[],
  values: readonly number[],
): readonly number[] {
  const size = rows[0]!.length;
  const sum = (of: (row: readonly number[], at: number) => number) =>
    rows.reduce((total, row, at) => total + of(row, at), 0);
  const indexes = Array.from({ length: size }, (_, index) => index);
  const augmented = indexes.map((i) => [
    ...indexes.map((j) => sum((row) => row[i]! * row[j]!)),
    sum((row, at) => row[i]! * values[at]!),
  ]);
  return eliminate(augmented);
}

/** Gauss-Jordan elimination with the largest pivot of each column. */
function eliminate(augmented: number[][]): readonly number[] {
  const size = augmented.length;
  for (let column = 0; column < size; column++) {
    const candidates = augmented.slice(column).map((row) => Math.abs(row[column]!));
    const pivot = column + candidates.indexOf(Math.max(...candidates));
    [augmented[column], augmented[pivot]] = [augmented[pivot]!, augmented[column]!];
    const row = augmented[column]!;
    const scale = row[column]!;
    for (let at = 0; at <= size; at++) row[at]! /= scale;
    for (const other of augmented) {
      if (other === row) continue;
      const factor = other[column]!;
      for (let at = 0; at <= size; at++) other[at]! -= factor * row[at]!;
    }
  }
  return augmented.map((row) => row[size]!);
}
