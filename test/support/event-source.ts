/** An event of a stream. */
export interface StreamEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  /** Whether it is only a comment. */
  readonly isComment: boolean;
}

/** Reads the events of an answer until it ends. */
export async function* readEvents(
  response: Response,
): AsyncGenerator<StreamEvent, void, undefined> {
  let text = '';
  if (response.body === null) return;
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) yield parseEvent(block);
  }
}

function parseEvent(block: string): StreamEvent {
  const lines = block.split('\n');
  const fields = lines.map((line) => /^(id|event|data): (.*)$/.exec(line)?.slice(1) ?? []);
  return {
    ...(Object.fromEntries(fields.filter(({ length }) => length === 2)) as object),
    isComment: lines.every((line) => line.startsWith(':')),
  };
}
