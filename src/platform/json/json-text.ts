/** JSON that is text already, as the store has written it. */
export class JsonText {
  constructor(readonly text: string) {}
}
