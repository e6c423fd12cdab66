/** JSON that is text already, as the store has written it. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** JSON that is made while it is sent, since it is too long to be in memory at once. */
export class JsonPieces {
  /** @param open begins to make the pieces of the text */
  constructor(readonly open: () => AsyncIterable<string>) {}
}
