import {
  COMPARED,
  DISTURBANCES,
  type Engine,
  LOADS,
  type Measurement,
  type Part,
  PROGRAM,
  type Range,
  type Results,
  type Round,
  toRange,
} from './results.js';

// Draws the charts of the documents as SVG. Each value has its text beside it, so that nobody needs
// the colours. Lines end at the least and the most of the rounds.

const ENGINES: readonly Engine[] = ['sqlite', 'postgres'];
const WIDTH = 880;
const PANEL = WIDTH / ENGINES.length;
const ROW = 18;
const MARGIN = 12;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .group { font-weight: 600 }
  .note { font-size: 11px; fill: #59636e }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  .background { fill: #ffffff }
  .own { fill: #4ac26b }
  .other { fill: #d1d9e0; stroke: #59636e }
  .axis { stroke: #d1d9e0 }
  .range { stroke: #1f2328; stroke-width: 1.5 }
  .line { fill: none; stroke: #4ac26b; stroke-width: 2 }
  .tail { fill: none; stroke: #59636e; stroke-width: 2; stroke-dasharray: 5 4 }
  .tail-point { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .note { fill: #9198a1 }
    .background { fill: #0d1117 }
    .own { fill: #238636 }
    .other { fill: #3d444d; stroke: #9198a1 }
    .axis { stroke: #3d444d }
    .range { stroke: #f0f6fc }
    .line { stroke: #238636 }
    .tail { stroke: #9198a1 }
    .tail-point { fill: #9198a1 }
  }`;

/** The charts by the names of their files. */
export function drawCharts(results: Results): Record<string, string> {
  return {
    'operations.svg': drawOperations(results),
    'load.svg': drawLoad(results),
    'disturbances.svg': drawDisturbances(results),
  };
}

/** The measurements of a part and an engine. */
export function select(results: Results, part: Part, engine: Engine): readonly Measurement[] {
  return results.measurements.filter((one) => one.part === part && one.engine === engine);
}

export function rangeOf(one: Measurement | undefined, value: keyof Round): Range {
  return toRange(one?.rounds.map((round) => round[value]) ?? []);
}

/** The rates of disturbed creates, as parts of the rate of the undisturbed ones just before them. */
export function listShares(results: Results, engine: Engine): ReadonlyMap<string, Range> {
  const measured = select(results, 'disturbed', engine);
  return new Map(
    Object.entries(DISTURBANCES).map(([name, title]) => {
      const place = measured.findIndex(({ operation }) => operation === name);
      const { median: undisturbed } = rangeOf(measured[place - 1], 'rate');
      const rates = measured[place]?.rounds.map(({ rate }) => rate) ?? [];
      return [title, toRange(rates.map((rate) => rate / undisturbed))];
    }),
  );
}

/** Requests per second of the program and its peers, as bars. Each operation has its own scale. */
function drawOperations(results: Results): string {
  const panels = ENGINES.map((engine, index) => {
    const bars = new Bars(index * PANEL, 215);
    bars.addTitle(results.versions[engine]);
    for (const operation of COMPARED) {
      const measured = select(results, 'peers', engine).filter(
        (one) => one.operation === operation,
      );
      const ranges = measured.map((one) => rangeOf(one, 'rate'));
      bars.startGroup(`${operation}s per second`, Math.max(...ranges.map(({ most }) => most)));
      measured.forEach(({ contestant }, place) => {
        const range = ranges[place] as Range;
        const rate = range.median.toLocaleString('en', ROUNDED);
        bars.add(contestant, range, rate, contestant === PROGRAM);
      });
    }
    return bars;
  });
  const on = measuredOn(results, `64 connections, ${plants(results)}`);
  return drawPanels('Requests per second beside other services', on, panels);
}

const ROUNDED = { maximumFractionDigits: 0 };

/** The rate of creates while others disturb them, as bars. */
function drawDisturbances(results: Results): string {
  const panels = ENGINES.map((engine, index) => {
    const shares = listShares(results, engine);
    const bars = new Bars(index * PANEL, 215);
    bars.addTitle(results.versions[engine]);
    bars.startGroup('creates', Math.max(1, ...[...shares.values()].map(({ most }) => most)));
    bars.addLine(1, shares.size);
    for (const [title, share] of shares) bars.add(title, share, share.median.toFixed(2), true);
    return bars;
  });
  const on = measuredOn(results, 'The line at 1 is the rate of creates that nothing disturbs');
  return drawPanels('The part of their rate that creates keep among others', on, panels);
}

/** The length of the longest bar. */
const LENGTH = 150;

/** One panel of horizontal bars, from the top down. */
class Bars {
  readonly parts: string[] = [];
  bottom = 66;
  /** Where the bars begin. */
  private readonly start: number;
  /** The value of the longest bar of the group. */
  private most = 1;

  /** @param labels the width of the texts in front of the bars */
  constructor(
    private readonly left: number,
    labels: number,
  ) {
    this.start = left + MARGIN + labels;
  }

  addTitle(title: string): void {
    this.addText(this.left + MARGIN, 'group', title);
    this.bottom += ROW;
  }

  startGroup(title: string, most: number): void {
    this.most = most;
    this.bottom += ROW / 2;
    this.addTitle(title);
  }

  add(label: string, { median, least, most }: Range, value: string, isOwn: boolean): void {
    const middle = this.bottom - 4;
    const width = this.toX(median) - this.start;
    this.addText(this.start - 6, 'end', label);
    this.parts.push(
      `<rect class="${isOwn ? 'own' : 'other'}" x="${this.start}" y="${middle - 6}" width="${fix(width)}" height="12"/>`,
      `<path class="range" d="M${fix(this.toX(least))} ${middle}H${fix(this.toX(most))}"/>`,
    );
    this.addText(this.toX(most) + 6, '', value);
    this.bottom += ROW;
  }

  /** Adds a vertical line at a value, across the next rows. */
  addLine(value: number, rows: number): void {
    const x = fix(this.toX(value));
    this.parts.push(`<path class="axis" d="M${x} ${this.bottom - ROW}v${(rows + 1) * ROW}"/>`);
  }

  private toX(value: number): number {
    return this.start + (value / this.most) * LENGTH;
  }

  private addText(x: number, style: string, text: string): void {
    this.parts.push(writeText(x, this.bottom, style, text));
  }
}

const TOP = 90;
const HEIGHT = 240;
/** The times of the axis, in milliseconds. */
const TICKS = [0.1, 1, 10, 100, 1_000];

/** How long creates take on more and more connections, as lines. */
function drawLoad(results: Results): string {
  const parts = ENGINES.flatMap((engine, index) => {
    const left = index * PANEL + 60;
    const step = (PANEL - 100) / (LOADS.length - 1);
    const measured = select(results, 'load', engine);
    const x = (place: number): number => left + place * step;
    const draw = (value: 'medianMs' | 'p99Ms', style: string, mark: Mark): string[] => {
      const ranges = measured.map((one) => rangeOf(one, value));
      const line = ranges.map(({ median }, place) => `${fix(x(place))} ${fix(toY(median))}`);
      const marks = ranges.flatMap(({ median, least, most }, place) => [
        `<path class="range" d="M${fix(x(place))} ${fix(toY(least))}V${fix(toY(most))}"/>`,
        mark(x(place), toY(median)),
      ]);
      return [`<path class="${style}" d="M${line.join('L')}"/>`, ...marks];
    };
    const axis = TICKS.flatMap((ms) => [
      `<path class="axis" d="M${left} ${toY(ms)}H${x(LOADS.length - 1)}"/>`,
      writeText(left - 8, toY(ms) + 4, 'end note', `${ms} ms`),
    ]);
    const loads = measured.flatMap(({ connections }, place) => [
      writeText(x(place), TOP + HEIGHT + 18, 'middle', connections.toLocaleString('en')),
      writeText(
        x(place),
        TOP + HEIGHT + 34,
        'middle note',
        rangeOf(measured[place], 'rate').median.toLocaleString('en', ROUNDED),
      ),
    ]);
    return [
      writeText(left, 66, 'group', `Creates on ${results.versions[engine]}`),
      ...axis,
      ...loads,
      ...draw('p99Ms', 'tail', drawSquare),
      ...draw('medianMs', 'line', drawCircle),
    ];
  });
  const legend = [
    drawCircle(72, TOP + HEIGHT + 56),
    writeText(84, TOP + HEIGHT + 60, '', 'half of the answers came within this time'),
    drawSquare(372, TOP + HEIGHT + 56),
    writeText(384, TOP + HEIGHT + 60, '', '99 of 100 answers came within this time'),
    writeText(
      MARGIN,
      TOP + HEIGHT + 80,
      'note',
      'Below each point: connections, and creates per second',
    ),
  ];
  const on = measuredOn(results, plants(results));
  return draw('Latency beside load', on, TOP + HEIGHT + 90, [...parts, ...legend]);
}

type Mark = (x: number, y: number) => string;

const drawCircle: Mark = (x, y) => `<circle class="own" cx="${fix(x)}" cy="${fix(y)}" r="5"/>`;
const drawSquare: Mark = (x, y) =>
  `<rect class="tail-point" x="${fix(x - 4)}" y="${fix(y - 4)}" width="8" height="8"/>`;

/** The place of a time on the logarithmic axis. */
function toY(ms: number): number {
  const [least = 1, most = 1] = [TICKS[0], TICKS.at(-1)];
  const part = Math.log(Math.max(ms, least) / least) / Math.log(most / least);
  return TOP + HEIGHT * (1 - part);
}

function plants({ rows }: Results): string {
  return `${rows.toLocaleString('en')} plants at the start`;
}

function measuredOn({ date, node, machine, seconds, measurements }: Results, how: string): string {
  const rounds = measurements[0]?.rounds.length ?? 0;
  return `${how}; ${rounds} rounds of ${seconds} s. ${machine}, Node ${node.slice(1)}, ${date.slice(0, 10)}`;
}

function drawPanels(title: string, note: string, panels: readonly Bars[]): string {
  const bottom = Math.max(...panels.map((panel) => panel.bottom));
  return draw(
    title,
    note,
    bottom,
    panels.flatMap(({ parts }) => parts),
  );
}

function draw(title: string, note: string, bottom: number, parts: readonly string[]): string {
  const height = Math.ceil(bottom) + 16;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>${title}</title>
<style>${STYLE}
</style>
<rect class="background" width="100%" height="100%"/>
${writeText(MARGIN, 24, 'title', title)}
${writeText(MARGIN, 42, 'note', note)}
${parts.join('\n')}
</svg>
`;
}

function writeText(x: number, y: number, style: string, text: string): string {
  return `<text class="${style}" x="${fix(x)}" y="${fix(y)}">${text.replaceAll('&', '&amp;')}</text>`;
}

/** A tenth of a pixel is enough. */
function fix(value: number): string {
  return String(Math.round(value * 10) / 10);
}
