import { Injectable } from '@nestjs/common';
import type { JsonPage } from '../../platform/database/batched-repository.js';
import {
  type Change,
  ChangeFeed,
  type ChangePage,
  type InTurn,
} from '../../platform/database/change-feed.js';
import { iterate, type Items } from '../../platform/database/iterate.js';
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

  private writeEvents(cursor: string, signal: AbortSignal, inTurn: InTurn): Items<string> {
    const pages = this.feed.follow(cursor, signal, inTurn);
    let isFirst = true;
    const readNext = async (): Promise<string | undefined> => {
      if (isFirst) {
        isFirst = false;
        // A client that loses the stream before the first change resumes here.
        return writeEvent({ id: cursor });
      }
      const { value: page } = await pages.next();
      return page && this.writePage(page);
    };
    return iterate(readNext, () => pages.return());
  }

  private writePage(page: ChangePage): string {
    const text = this.events.get(page) ?? page.changes.map(toEvent).join('');
    this.events.set(page, text);
    return text;
  }
}

function toEvent({ cursor, type, json }: Change): string {
  return writeEvent({ id: cursor, event: type, data: json });
}
