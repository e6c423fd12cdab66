/** JSON that is text already, as an engine has written it. */
export class JsonText {
  constructor(readonly text: string) {}
}
