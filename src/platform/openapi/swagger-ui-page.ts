// The plugins and the style of the Swagger UI page. The page gets the source text of each plugin,
// so a plugin must not refer to anything outside itself.

/** The part of React that the plugins use. */
interface React {
  readonly createElement: (
    component: unknown,
    properties: object | null,
    ...children: unknown[]
  ) => unknown;
}
type Component = (properties: never) => unknown;

/** The part of Swagger UI's ordered map that the plugins use. */
interface OrderedMap<Value> {
  readonly size: number;
  get(name: string): unknown;
  filter(isMeant: (value: Value, key: string) => boolean): OrderedMap<Value>;
  entrySeq(): { toArray(): [key: string, value: Value][] };
}

/** The part of Swagger UI that the plugins use. */
interface System {
  readonly React: React;
  readonly getComponent: (name: string, isContainer: boolean) => Component;
  readonly specSelectors: {
    responseFor(path: string, method: string): OrderedMap<unknown> | null | undefined;
  };
  readonly oas3Selectors: { requestBodyValue(path: string, method: string): unknown };
  readonly oas3Actions: {
    setRequestBodyValue(change: { readonly value: string; readonly pathMethod: string[] }): void;
  };
}

/** Adapts the page to the width of a phone, and to a preference for dark colours. */
export function fitDevice(): object {
  const viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">';
  document.head.insertAdjacentHTML('beforeend', viewport);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = (): unknown =>
    document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
  return {};
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
      const highlighting = { language: 'json', canCopy: true };
      return React.createElement(getComponent('HighlightCode', true), highlighting, print(content));
    };
  return { wrapComponents: { responseBody: showBody } };
}

/** Folds the documented errors of an operation into one list below its successes. */
export function foldFailures({ React, getComponent }: System): object {
  type Responses = OrderedMap<OrderedMap<unknown>>;
  const isFailure = (_: unknown, status: string): boolean => /^[45]/.test(status);
  const { createElement } = React;
  const row = ([status, response]: [string, OrderedMap<unknown>]): unknown => {
    const source = response.get('description');
    const description = createElement(getComponent('Markdown', true), { source });
    const heading = createElement('th', { scope: 'row' }, status);
    return createElement('tr', { key: status }, heading, createElement('td', null, description));
  };
  const list = (responses: Responses): unknown => {
    const failures = responses.entrySeq().toArray();
    const statuses = failures.map(([status]) => status).join(', ');
    return createElement(
      'details',
      { className: 'failures' },
      createElement('summary', null, createElement('b', null, 'Failures'), `: ${statuses}`),
      createElement('table', null, createElement('tbody', null, failures.map(row))),
    );
  };
  const showResponses =
    (original: Component) =>
    (properties: { readonly responses: Responses }): unknown => {
      const { responses } = properties;
      const failures = responses.filter(isFailure);
      const successes = responses.filter((value, status) => !isFailure(value, status));
      return createElement(
        'div',
        null,
        createElement(original, { ...properties, responses: successes }),
        failures.size > 0 && list(failures),
      );
    };
  return { wrapComponents: { responses: showResponses } };
}

/**
 * Puts an unused id into the examples: the time in milliseconds, and a new one after each create.
 * The example of the document would be in use from the second create on. An id that the user has
 * typed stays.
 */
export function proposeNewIds({ specSelectors, oas3Selectors, oas3Actions }: System): object {
  interface Request {
    readonly path: string;
    readonly method: string;
  }
  interface Document {
    readonly components?: {
      readonly schemas?: Record<string, { properties?: { id?: { example?: unknown } } }>;
    };
  }
  let proposed = Date.now();
  const proposals = new Set([proposed]);
  const proposeFirst =
    (original: (document: Document) => unknown) =>
    (document: Document): unknown => {
      for (const { properties } of Object.values(document.components?.schemas ?? {})) {
        if (typeof properties?.id?.example === 'number') properties.id.example = proposed;
      }
      return original(document);
    };
  const proposeNext =
    (original: (request: Request) => unknown) =>
    (request: Request): unknown => {
      const { path, method } = request;
      const body = oas3Selectors.requestBodyValue(path, method);
      const isUsed =
        method === 'post' && specSelectors.responseFor(path, method)?.get('ok') === true;
      if (isUsed && typeof body === 'string') {
        proposed = Math.max(Date.now(), proposed + 1);
        const value = body.replace(/("id":\s*)(\d+)/, (member, name: string, id: string) =>
          proposals.has(Number(id)) ? name + String(proposed) : member,
        );
        proposals.add(proposed);
        oas3Actions.setRequestBodyValue({ value, pathMethod: [path, method] });
      }
      return original(request);
    };
  return {
    statePlugins: {
      spec: { wrapActions: { updateJsonSpec: proposeFirst, execute: proposeNext } },
    },
  };
}

/**
 * Hides controls that offer no choice, and keeps elements from covering text or exceeding a narrow
 * window.
 */
export const STYLE = `
  .swagger-ui .schemes-server-container:has(option:only-child),
  .swagger-ui .opblock-section-header label:has(option:only-child),
  .swagger-ui .response-control-media-type:has(option:only-child),
  .swagger-ui .opblock-section:has(> .parameters-container > .opblock-description-wrapper) > .opblock-section-header,
  .swagger-ui .parameters-container:has(> .opblock-description-wrapper),
  .swagger-ui .responses-table:not(:has(.operation-link)) .response-col_links,
  .swagger-ui .try-out,
  .swagger-ui .request-url { display: none !important; }
  .swagger-ui .info { margin: 24px 0 8px; }
  .swagger-ui .opblock-description-wrapper { padding: 8px 20px; }
  .swagger-ui .scheme-container { margin: 0; padding: 0 0 16px; background: none; box-shadow: none; }
  .swagger-ui .scheme-container .schemes { justify-content: flex-start; }
  .swagger-ui table.parameters tbody tr td.parameters-col_name { padding-right: 12px; }
  .swagger-ui textarea.body-param__text { height: auto; min-height: 110px; field-sizing: content; }
  .swagger-ui .curl-command pre, .swagger-ui .highlight-code pre { padding-right: 48px !important; }
  .swagger-ui .highlight-code .copy-to-clipboard { bottom: 5px; right: 9px; }
  .swagger-ui pre.microlight > code { white-space: pre-wrap !important; word-break: normal !important; overflow-wrap: anywhere; }
  .swagger-ui .failures { padding: 0 20px 20px; font-size: 14px; font-family: sans-serif; color: #3b4151; }
  .dark-mode .swagger-ui :is(.failures, .headers-wrapper td, .header-col) { color: #e4e6e6; }
  .swagger-ui .responses-table tr.response[data-code='304'] .response-controls { display: none; }
  .swagger-ui .failures summary { cursor: pointer; }
  .swagger-ui .failures table { margin-top: 8px; }
  .swagger-ui .failures table tbody tr :is(th, td) { padding: 6px 16px 0 0; text-align: left; vertical-align: top; }
  .swagger-ui .failures .renderedMarkdown :is(p, ul, li) { margin: 0; padding: 0; font-size: 14px; list-style: none; }
  @media (max-width: 640px) {
    .swagger-ui .wrapper { padding: 0 10px; }
    .swagger-ui .responses-table, .swagger-ui .responses-table > tbody, .swagger-ui tr.response, .swagger-ui tr.response > td { display: block; }
    .swagger-ui .responses-table > thead { display: none; }
  }
`;
