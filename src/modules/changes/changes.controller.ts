import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import type { JsonPage } from '../../platform/database/batched-repository.js';
import { ApiErrors } from '../../platform/errors/api-errors.decorator.js';
import { ErrorCatalogue } from '../../platform/errors/error-catalogue.js';
import { ApiTag } from '../../platform/rest/api-tag.decorator.js';
import { ApiPageOrEvents, type EventStream } from '../../platform/rest/event-stream.js';
import { ChangesService } from './changes.service.js';
import { ChangeDto } from './dto/change.dto.js';
import { ListChangesDto } from './dto/list-changes.dto.js';

@ApiTag(
  'changes',
  'The feed of changes: every committed change, with the changes of a row in their order',
)
@Controller('changes')
export class ChangesController {
  constructor(private readonly changes: ChangesService) {}

  @Get()
  @ApiOperation({
    operationId: 'listChanges',
    summary: 'List changes, oldest first, or follow them',
    description:
      'A page always has a `Link` with `rel="next"`: follow it, and after an empty page follow it again later. With `Accept: text/event-stream` the changes are sent as they are committed, and a comment after every 15 seconds of silence.',
  })
  @ApiPageOrEvents(ChangeDto, 'A page of changes, or changes as they are committed')
  @ApiErrors(ErrorCatalogue.CHANGES_GONE)
  list(@Query() query: ListChangesDto): Promise<JsonPage | EventStream> {
    return query.isStream === true ? this.changes.follow(query) : this.changes.list(query);
  }
}
