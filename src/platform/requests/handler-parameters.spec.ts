import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  Get,
  Headers,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Req,
} from '@nestjs/common';
import { IsInt, IsOptional, IsString, ValidateBy } from 'class-validator';
import { readHandlerParameters } from './handler-parameters.js';

class Text {
  @IsString()
  text!: string;
}

class Unruled {
  text!: string;
}

class Shade {
  // Of an imported union, one compiler records a string, and another records nothing.
  @ValidateBy({ name: 'shade', validator: { validate: (value) => value === 'full' } })
  shade!: string;
}

class List {
  @IsOptional()
  @IsString({ each: true })
  words?: string[];
}

class Page {
  @IsInt()
  limit = 10;
}

interface Shape {
  text: string;
}

@Controller()
class Good {
  @Get()
  none(@Req() request: object, @Headers('a') header: string): unknown {
    return [request, header];
  }

  @Post()
  all(@Param() path: Text, @Query() query: Page, @Body() body: Text): unknown {
    return [path, query, body];
  }

  @Get()
  piped(@Param('id', ParseIntPipe) id: number, @Query('q', ParseIntPipe) q: number): unknown {
    return [id, q];
  }
}

class Bad {
  shape(@Body() body: Shape): unknown {
    return [body];
  }

  list(@Body() body: Text[]): unknown {
    return [body];
  }

  unruled(@Body() body: Unruled): unknown {
    return [body];
  }

  name(@Query('name') name: string): unknown {
    return [name];
  }

  twice(@Body() body: Text, @Body() other: Page): unknown {
    return [body, other];
  }

  union(@Query() query: Shade): unknown {
    return [query];
  }

  words(@Query() query: List): unknown {
    return [query];
  }
}

// These are internals of Nest: a failure shows what an upgrade has changed.
describe('readHandlerParameters', () => {
  it('finds the classes of @Body(), @Query() and @Param()', () => {
    const { body, query, path } = readHandlerParameters(Good, 'all') ?? {};
    expect([body?.type, query?.type, path?.type]).toEqual([Text, Page, Text]);
  });

  it('leaves single parameters to their pipes, and other decorators alone', () => {
    expect(readHandlerParameters(Good, 'none')).toBeUndefined();
    expect(readHandlerParameters(Good, 'piped')).toBeUndefined();
  });

  const declare = 'write @';

  it.each([
    ['shape', '@Body()', declare],
    ['list', '@Body()', declare],
    ['twice', '@Body()', 'write it once'],
    ['unruled', '@Body()', 'Unruled has no member with a rule'],
    [
      'name',
      '@Query()',
      'write @Query() query: AClass, a class whose members have validation rules (imported without "type"), or give the single parameter a pipe',
    ],
    ['union', '@Query()', 'Shade.shade: no rule says what its type is; add one that does'],
    ['words', '@Query()', 'List.words: a parameter is a single text, number or boolean'],
  ])('refuses %s of %s', (method, decorator, reason) => {
    expect(() => readHandlerParameters(Bad, method)).toThrow(
      `Bad.${method}, ${decorator}: ${reason}`,
    );
  });
});
