import { Controller, Get, Query, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import type { Request } from 'express';
import { ChangeFeed, type JsonPage, LATEST } from 'durable-store';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { ApiErrors } from '../errors/api-errors.decorator.js';
import { ApiTag } from '../rest/api.decorators.js';
import { ApiEndlessPage, waitInRequest } from '../rest/long-poll.js';
import { ChangeDto } from './dto/change.dto.js';
import { ListChangesDto } from './dto/list-changes.dto.js';

@ApiTag(
  'changes',
  'The feed of changes: every committed change, with the changes of a row in their order',
)
@Controller({ path: 'changes', version: VERSION_NEUTRAL })
export class ChangesController {
  constructor(private readonly feed: ChangeFeed) {}

  @Get()
  @ApiOperation({
    operationId: 'listChanges',
    summary: 'List changes, oldest first, or wait for the next one',
    description:
      'A page always has a `Link` with `rel="next"`: follow it again and again. With `wait` the answer comes when there is a change.',
  })
  @ApiEndlessPage(ChangeDto, 'A page of changes')
  @ApiErrors(ErrorCatalogue.CHANGES_GONE)
  async list(
    @Query() { after, limit, wait = 0 }: ListChangesDto,
    @Req() request: Request,
  ): Promise<JsonPage> {
    if (wait > 0 && after !== LATEST) {
      await waitInRequest(request, wait * 1_000, (signal) =>
        this.feed.waitForChange(after, signal),
      );
    }
    return await this.feed.read(after, limit);
  }
}
