/**
 * A value that is JSON text already, as from the store. {@link writeJson} and answers write the
 * text as it is, without quotes. The constructor does not check it.
 *
 * @example
 * ```ts
 * const details = new JsonText('{"till":2}');
 * const { till } = JSON.parse(details.text) as { till: number };
 * ```
 */
export class JsonText {
  constructor(readonly text: string) {}
}
