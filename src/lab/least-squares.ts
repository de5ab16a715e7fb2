/** If less than this share of a column's square remains, the column depends on others. Counts are exact, so only rounding is this small. */
const NOTHING = 1e-9;

/** Applies the sweep operator to row and column `k` of a square matrix, in place. */
function sweepColumn(m: readonly Float64Array[], k: number): void {
  const row = m[k];
  const d = row[k];
  for (let j = 0; j < row.length; j++) row[j] /= d;
  for (let i = 0; i < m.length; i++) {
    const b = m[i][k];
    if (i === k || b === 0) continue;
    for (let j = 0; j < row.length; j++) m[i][j] -= b * row[j];
    m[i][k] = -b / d;
  }
  row[k] = 1 / d;
}

/**
 * A linear model with columns of 0 and 1, fitted by least squares. If columns are linearly dependent, only estimable combinations of
 * coefficients have a value. Solves the normal equations with the sweep operator (Goodnight, "A Tutorial on the SWEEP Operator", The
 * American Statistician 33, 1979).
 */
export class LinearModel {
  /** Number of columns that do not depend linearly on those before them. */
  readonly rank: number;
  /** Residual sum of squares. */
  readonly residual: number;
  private readonly kept: readonly boolean[];
  private readonly swept: readonly Float64Array[];

  /**
   * @param rows for each observation, the indices of the columns that are 1
   * @param columns number of columns; one that is 1 everywhere is the constant
   * @param y the observations
   */
  constructor(rows: readonly (readonly number[])[], columns: number, y: readonly number[]) {
    const m = Array.from({ length: columns + 1 }, () => new Float64Array(columns + 1));
    rows.forEach((row, n) => {
      for (const i of row) {
        for (const j of row) m[i][j]++;
        m[i][columns] += y[n];
        m[columns][i] += y[n];
      }
      m[columns][columns] += y[n] * y[n];
    });
    const squares = m.map((row, i) => row[i]);
    const kept = new Array<boolean>(columns).fill(false);
    for (let k = 0; k < columns; k++)
      if (m[k][k] > NOTHING * squares[k]) {
        sweepColumn(m, k);
        kept[k] = true;
      }
    this.kept = kept;
    this.rank = kept.filter(Boolean).length;
    // If the model explains everything, rounding may make this negative.
    this.residual = Math.max(0, m[columns][columns]);
    this.swept = m;
  }

  /**
   * A linear combination of coefficients; null if it is not estimable, that is, if it differs between least-squares solutions.
   *
   * @param sum the factor of each coefficient, by column
   */
  sum(sum: ReadonlyMap<number, number>): number | null {
    for (let j = 0; j < this.kept.length; j++) {
      if (this.kept[j]) continue;
      let follows = 0;
      for (const [i, c] of sum) if (this.kept[i]) follows += c * this.swept[i][j];
      // These are small whole numbers up to rounding.
      if (Math.abs(follows - (sum.get(j) ?? 0)) > 1e-6) return null;
    }
    let value = 0;
    for (const [i, c] of sum) if (this.kept[i]) value += c * this.swept[i][this.kept.length];
    return value;
  }
}
