import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { parseObject } from '../../../src/platform/requests/json-body.js';
import { NewPlantDto } from '../../../src/modules/plants/dto/new-plant.dto.js';
import { CompiledDto } from '../../../src/platform/validation/compiled-dto.js';
import {
  writeBody,
  LENGTH,
  mutate,
  createRandom,
  randomRecipe,
  type Recipe,
} from './body-search.js';
import { ExampleBody } from '../../support/example.module.js';

// BODY_COST_STEPS=5000 npm run prove -- programs body-cost searches for longer.

const STEPS = Number(process.env.BODY_COST_STEPS ?? 20);
const SEED = Number(process.env.BODY_COST_SEED ?? 7);
/** How many times as long as the slowest valid body another body of the same length may take. */
const RATIO = 3;

/** The slowest bodies that long searches found, in this and in earlier versions. */
const SLOWEST: readonly Recipe[] = [
  { slot: 'name', kind: 'members', pieces: ['"%":0'], depth: 0, rest: '"id":7' },
  { slot: 'name', kind: 'elements', pieces: ['[]'], depth: 50, rest: '"id":7' },
  { slot: undefined, kind: 'members', pieces: ['"\\u0069d":1'], depth: 0, rest: '' },
  {
    slot: 'anything',
    kind: 'members',
    pieces: ['"\\u0061%":0', '"name":""', '"a":-0.0'],
    depth: 0,
    rest: '"id":7,"name":"n","seed":{"id":1}',
  },
  { slot: 'ids', kind: 'elements', pieces: [' 0 '], depth: 0, rest: '"seed":{"id":1}' },
  { slot: 'seeds', kind: 'elements', pieces: ['{}'], depth: 0, rest: '"seed":{"id":1}' },
  {
    slot: 'seeds',
    kind: 'elements',
    pieces: ['{"\\u0069d":1}', '{"id":1,"parent":{"id":1}}'],
    depth: 0,
    rest: '"id":7,"name":"n","seed":{"id":1}',
  },
];

interface Cost {
  readonly isValid: boolean;
  readonly ms: number;
}

interface Found {
  readonly recipe: Recipe;
  readonly ms: number;
}

/**
 * Measures the processor time in milliseconds, which other load on the machine does not increase.
 * It takes the minimum of several runs, since other work of this process does.
 */
function measureCost(text: string, dto: CompiledDto, runs = 3): Cost {
  let least = Infinity;
  let isValid = true;
  for (let run = 0; run < runs; run++) {
    const began = process.cpuUsage();
    try {
      parseObject(text, dto, 'body');
    } catch {
      isValid = false;
    }
    const { user, system } = process.cpuUsage(began);
    least = Math.min(least, (user + system) / 1_000);
  }
  return { isValid, ms: least };
}

/** Searches for slower bodies by mutating the slowest known ones, valid ones and others. */
function search(dto: CompiledDto): { valid: Found; any: Found } {
  const random = createRandom(SEED);
  const none: Found = { recipe: randomRecipe(random), ms: 0 };
  let [valid, any] = [none, none];
  for (let step = 0; step < SLOWEST.length + STEPS; step++) {
    const from = random() < 0.5 ? valid : any;
    const recipe =
      SLOWEST[step] ?? (random() < 0.3 ? randomRecipe(random) : mutate(from.recipe, random));
    const { isValid, ms } = measureCost(writeBody(recipe), dto);
    if (ms > any.ms) any = { recipe, ms };
    if (isValid && ms > valid.ms) valid = { recipe, ms };
  }
  return { valid, any };
}

describe.each<Type<object>>([NewPlantDto, ExampleBody])('reading a body as %p', (type) => {
  const dto = CompiledDto.compile(type);

  it(`takes of ${LENGTH} bytes at most ${RATIO} times what a valid body takes`, () => {
    const { valid, any } = search(dto);
    const again = ({ recipe }: Found): number => measureCost(writeBody(recipe), dto, 15).ms;
    const [validMs, anyMs] = [again(valid), again(any)];
    const shown = `${anyMs.toFixed(2)} ms for ${JSON.stringify(any.recipe)}, ${validMs.toFixed(2)} ms for the valid ${JSON.stringify(valid.recipe)}`;
    if (process.env.BODY_COST_STEPS !== undefined) console.log(shown);
    expect({ shown, isFine: anyMs <= RATIO * validMs }).toEqual({ shown, isFine: true });
  });

  it('takes time linear in its length', () => {
    const [recipe] = SLOWEST as [Recipe];
    const short = measureCost(writeBody(recipe), dto, 15).ms;
    const long = measureCost(writeBody(recipe, 8 * LENGTH), dto, 5).ms;
    expect(long).toBeLessThan(2.5 * 8 * short);
  });
});
