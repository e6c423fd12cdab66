import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Body, Query } from '@nestjs/common';
import { IsOptional, IsString } from 'class-validator';
import { readHandlerParameters } from './handler-parameters.js';

class Text {
  @IsString()
  text!: string;
}

class List {
  @IsOptional()
  @IsString({ each: true })
  words?: string[];
}

interface Shape {
  text: string;
}

class Bad {
  shape(@Body() body: Shape): unknown {
    return [body];
  }

  list(@Body() body: Text[]): unknown {
    return [body];
  }

  name(@Query('name') name: string): unknown {
    return [name];
  }

  twice(@Body() body: Text, @Body() other: List): unknown {
    return [body, other];
  }

  words(@Query() query: List): unknown {
    return [query];
  }
}

// These are internals of Nest: a failure shows what an upgrade has changed.
describe('readHandlerParameters', () => {
  const declare = 'write @';

  it.each([
    ['shape', '@Body()', declare],
    ['list', '@Body()', declare],
    ['twice', '@Body()', 'write it once'],
    [
      'name',
      '@Query()',
      'write @Query() query: AClass, a class whose members have validation rules (imported without "type"), or give the single parameter a pipe',
    ],
    ['words', '@Query()', 'List.words: a parameter is a single text, number or boolean'],
  ])('refuses %s of %s', (method, decorator, reason) => {
    expect(() => readHandlerParameters(Bad, method)).toThrow(
      `Bad.${method}, ${decorator}: ${reason}`,
    );
  });
});
