import { Setting, wholeNumber } from 'durable-rest';

export class WateringsSettings {
  /** How many minutes one watering may take. */
  @Setting(wholeNumber(1, 1_440), '60')
  readonly WATERINGS_MAX_MINUTES!: number;
}
