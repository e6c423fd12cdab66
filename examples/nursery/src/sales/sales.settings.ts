import { Setting, wholeNumber } from 'durable-rest';

/** The settings of sales. */
export class SalesSettings {
  /** How many plants one sale may have. */
  @Setting(wholeNumber(1, 1_000_000), '1000')
  readonly SALES_MAX_QUANTITY!: number;
}
