/** How long the list of errors may get, in characters: a long request can have thousands. */
const MAX_LENGTH = 8_192;

/** The errors of a request, each listed once. */
export class ValidationErrors {
  /** Created with the first error, since most requests have none. */
  private texts: Set<string> | undefined;
  private length = 0;

  get isEmpty(): boolean {
    return this.texts === undefined;
  }

  /** Whether no further errors are needed. */
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
