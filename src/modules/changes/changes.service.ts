import { Injectable } from '@nestjs/common';
import type { JsonPage } from '../../platform/database/batched-repository.js';
import {
  type Change,
  ChangeFeed,
  type ChangePage,
  type InTurn,
} from '../../platform/database/change-feed.js';
import { JsonText } from '../../platform/json/json-text.js';
import { EventStream, writeEvent } from '../../platform/rest/event-stream.js';
import { LATEST, type ListChangesDto } from './dto/list-changes.dto.js';

@Injectable()
export class ChangesService {
  /** Pages written as events. Many listeners get the same page. */
  private readonly events = new WeakMap<ChangePage, string>();

  constructor(private readonly feed: ChangeFeed) {}

  /** @throws ApiError 40003, 41000, 50300 */
  async list({ after, limit }: ListChangesDto): Promise<JsonPage> {
    if (after === LATEST) {
      return { json: new JsonText('[]'), next: await this.feed.getLatestCursor() };
    }
    const { changes, cursor } = await this.feed.read(after, limit);
    return { json: new JsonText(`[${changes.map(({ json }) => json).join()}]`), next: cursor };
  }

  /** @throws ApiError 40003, 41000, 50300 */
  async follow({ after, lastEventId }: ListChangesDto): Promise<EventStream> {
    const given = lastEventId ?? (after === LATEST ? undefined : after);
    if (given !== undefined) await this.feed.assertReadable(given);
    const cursor = given ?? (await this.feed.getLatestCursor());
    return new EventStream((signal, inTurn) => this.writeEvents(cursor, signal, inTurn));
  }

  private async *writeEvents(
    cursor: string,
    signal: AbortSignal,
    inTurn: InTurn,
  ): AsyncGenerator<string, void, undefined> {
    // A client that loses the stream before the first change resumes here.
    yield writeEvent({ id: cursor });
    for await (const page of this.feed.follow(cursor, signal, inTurn)) {
      const known = this.events.get(page);
      const text = known ?? page.changes.map(toEvent).join('');
      if (known === undefined) this.events.set(page, text);
      yield text;
    }
  }
}

function toEvent({ cursor, type, json }: Change): string {
  return writeEvent({ id: cursor, event: type, data: json });
}
