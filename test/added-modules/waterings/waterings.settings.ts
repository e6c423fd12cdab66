import { type Format, oneOfWords, Setting, wholeNumber } from 'durable-rest';

const WEEKDAY: Format<number> = {
  must: 'must be a day of the week from 1 (Monday) to 7',
  parse: (text) => (/^[1-7]$/.test(text) ? Number(text) : undefined),
};

export class WateringsSettings {
  /** How many minutes one watering may take. */
  @Setting(wholeNumber(1, 1_440), '60')
  readonly WATERINGS_MAX_MINUTES!: number;

  /** Whether waterings are announced. */
  @Setting(oneOfWords(['on', 'off']), 'off')
  readonly WATERINGS_ANNOUNCED!: 'on' | 'off';

  /** The day without waterings; none if it is not set. */
  @Setting(WEEKDAY)
  readonly WATERINGS_FREE_DAY: number | undefined;
}
