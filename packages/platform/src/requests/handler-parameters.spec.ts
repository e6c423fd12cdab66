import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Body, Query, RawBody, UploadedFile, UseInterceptors } from '@nestjs/common';
import { FileInterceptor, NoFilesInterceptor } from '@nestjs/platform-express';
import { IsDefined, IsOptional, IsString } from 'class-validator';
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

class Untyped {
  @IsDefined()
  text!: string;
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

  page(@Query('page') page: number): unknown {
    return [page];
  }

  filter(@Query() query: Record<string, string>): unknown {
    return [query];
  }

  member(@Body('text') text: string): unknown {
    return [text];
  }

  file(@Body() body: Text, @UploadedFile() file: unknown): unknown {
    return [body, file];
  }

  @UseInterceptors(FileInterceptor('file'))
  form(@Body() body: Text): unknown {
    return [body];
  }

  @UseInterceptors(NoFilesInterceptor())
  fields(@Body() body: Text): unknown {
    return [body];
  }

  raw(@RawBody() body: Buffer): unknown {
    return [body];
  }

  untyped(@Body() body: Untyped): unknown {
    return [body];
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
    ['filter', '@Query()', "write @Query('name') name: string, or @Query() query: AClass"],
    ['twice', '@Body()', 'write it once'],
    [
      'page',
      '@Query()',
      'give the single parameter "page" a pipe, such as ParseIntPipe or ParseFloatPipe, or write @Query() query: AClass, a class whose members have validation rules',
    ],
    ['member', '@Body()', 'write @Body() body: AClass'],
    [
      'file',
      '@Body()',
      'the body of FileInterceptor() or @UploadedFile() is a form, and not JSON: write @Req() request',
    ],
    ['form', '@Body()', 'the body of FileInterceptor() or'],
    ['raw', '@RawBody()', "Nest's own would get nothing: write that of durable-rest"],
    ['fields', '@Body()', 'the body of FileInterceptor() or'],
    ['untyped', '@Body()', 'Untyped.text: no rule says what its type is'],
    ['words', '@Query()', 'List.words: a parameter is a single text, number or boolean'],
  ])('refuses %s of %s', (method, decorator, reason) => {
    expect(() => readHandlerParameters(Bad, method)).toThrow(
      `Bad.${method}, ${decorator}: ${reason}`,
    );
  });
});
