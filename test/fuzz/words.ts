/** The words of a text: `words` followed by a template, in which a backslash is a backslash. */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}
