/** A value that is JSON text already, as from the store. */
export class JsonText {
  constructor(readonly text: string) {}
}
