/** How long the list of errors may get, in characters: a long request can have thousands. */
const MAX_LENGTH = 8_192;

/** Everything that is wrong with a request, one error after another, each said once. */
export class ValidationErrors {
  /** Not made before there is one, since most requests have none. */
  private texts: Set<string> | undefined;
  private length = 0;

  get isEmpty(): boolean {
    return this.texts === undefined;
  }

  /** Whether there is no need to look for more. */
  get isFull(): boolean {
    return this.length > MAX_LENGTH;
  }

  add(text: string): void {
    this.texts ??= new Set();
    this.texts.add(text);
    this.length += text.length;
  }

  toString(): string {
    const text = [...(this.texts ?? [])].join('; ');
    return this.isFull ? `${text.slice(0, MAX_LENGTH)}; and more` : text;
  }
}
