import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Param, Post } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { text, uuid } from '../../src/platform/database/columns.js';
import { ApiCreated } from '../../src/platform/rest/api.decorators.js';
import { UuidDto } from '../../src/platform/rest/id.dto.js';
import { IsText, IsUuid } from '../../src/platform/validation/types.decorators.js';
import { expectError } from '../support/expect-error.js';
import { addToSchema } from '../support/store.js';
import { TestApp } from '../support/test-app.js';

@Entity('notes')
class Note {
  @PrimaryColumn(uuid())
  id!: string;

  @Column(text())
  text!: string;
}

class NewNoteDto {
  @IsText()
  text!: string;
}

class NoteDto extends NewNoteDto {
  @IsUuid()
  id!: string;
}

/** A table that only grows. */
@Controller('notes')
class NotesController {
  private readonly notes: BatchedRepository<Note>;

  constructor(store: DataSource) {
    this.notes = new BatchedRepository(store.getRepository(Note));
  }

  @Post()
  @ApiCreated(NoteDto, 'The note')
  create(@Body() { text }: NewNoteDto): Promise<NoteDto> {
    return this.notes.add({ text });
  }

  @Get(':id')
  @ApiOkResponse({ type: NoteDto })
  read(@Param() { id }: UuidDto): Promise<NoteDto | undefined> {
    return this.notes.find(id);
  }
}

@Module({ controllers: [NotesController] })
class NotesModule {}

addToSchema({ entities: [Note], migrations: [] });

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({}, NotesModule);
  await app.query('CREATE TABLE notes (id uuid PRIMARY KEY, text text NOT NULL)');
});
afterAll(() => app.close());

it('lets a module add rows that nobody changes or removes', async () => {
  const added = await app.post('/notes', '{"text":"first"}');
  expect(added).toMatchObject({ status: 201, body: { text: 'first' } });
  const path = added.headers.get('location') ?? '';
  expect((await app.get(path)).body).toEqual(added.body);
  for (const refused of [
    await app.put(path, '{}'),
    await app.patch(path, '{}'),
    await app.delete(path),
  ]) {
    expectError(refused, 'METHOD_NOT_ALLOWED');
    expect(refused.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  }
  expect((await app.get(path)).body).toEqual(added.body);
});
