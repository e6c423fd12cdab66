import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Matches, Max, Min } from 'class-validator';
import type { IncomingHttpHeaders } from 'node:http';
import { prefersEvents } from '../../../platform/rest/event-stream.js';
import { IsOptionalNotNull } from '../../../platform/validation/types.decorators.js';

/** Stands for the cursor of the newest change. */
export const LATEST = 'latest';

const AFTER = /^(latest|[\w-]{12}\.(0|[1-9]\d{0,14}))$/;
const MAX_LIMIT = 1_000;

/** Which changes to read. */
export class ListChangesDto {
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  @ApiProperty({ description: 'How many to list at most', maximum: MAX_LIMIT })
  limit = 100;

  @IsOptionalNotNull()
  @Matches(AFTER, { message: `$property must be ${LATEST}, or a cursor of this feed` })
  @ApiPropertyOptional({
    pattern: AFTER.source,
    description: `The cursor of the last change that is known, or \`${LATEST}\`. By default a page starts with the oldest change that is kept, and a stream with the next change`,
  })
  after?: string;

  /** Whether changes are sent as they are committed. */
  isStream?: true;
  lastEventId?: string;

  readHeaders(headers: IncomingHttpHeaders): void {
    if (!prefersEvents(headers.accept)) return;
    this.isStream = true;
    const id = headers['last-event-id'];
    if (typeof id === 'string' && id !== '') this.lastEventId = id;
  }
}
