// The plugin and the style of the Swagger UI page. The page gets the source text of the plugin, so
// it must not refer to anything outside itself.

type Component = (properties: never) => unknown;

/** The part of Swagger UI that the plugin uses. */
interface System {
  readonly React: {
    readonly createElement: (component: unknown, properties: object) => unknown;
  };
  readonly getComponent: (name: string, isContainer: boolean) => Component;
}

/**
 * Shows the exact digits of a JSON answer. Swagger UI would parse and print it, and so round
 * integers beyond 2^53.
 */
export function showExactNumbers({ React, getComponent }: System): object {
  type Reviver = (name: string, value: unknown, context: { readonly source: string }) => unknown;
  const json = JSON as unknown as {
    parse(text: string, reviver: Reviver): unknown;
    rawJSON(source: string): unknown;
  };
  const keepDigits: Reviver = (_, value, { source }) =>
    typeof value === 'number' ? json.rawJSON(source) : value;
  const print = (text: string): string => {
    try {
      return JSON.stringify(json.parse(text, keepDigits), null, 2);
    } catch {
      // It is not JSON, or the browser has no rawJSON(): show the text as received.
      return text;
    }
  };
  const showBody =
    (original: Component) =>
    (properties: { readonly content: unknown; readonly contentType?: string }): unknown => {
      const { content, contentType = '' } = properties;
      if (typeof content !== 'string' || !contentType.includes('json')) {
        return React.createElement(original, properties);
      }
      return React.createElement(getComponent('HighlightCode', true), {
        language: 'json',
        canCopy: true,
        children: print(content),
      });
    };
  return { wrapComponents: { responseBody: showBody } };
}

/** Shows only the description of each documented failure, since all failures have one shape. */
export const STYLE = `
  .swagger-ui .responses-table tr.response:is([data-code^='3'], [data-code^='4'], [data-code^='5'])
    :is(.response-controls, .model-example) { display: none; }
`;
