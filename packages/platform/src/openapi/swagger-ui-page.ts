// The plugins and the style of the Swagger UI page. The page gets the source text of each plugin, so
// a plugin must not refer to anything outside itself.

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

/**
 * Sets the example of each int64 that is named id to the time, as a table would refuse an id that it
 * has already. The document itself stays the same.
 */
export function suggestNewIds(): object {
  interface Schema {
    readonly properties?: Record<string, { readonly format?: string; example?: unknown }>;
  }
  interface Specification {
    readonly components?: { readonly schemas?: Record<string, Schema> };
  }
  const renew =
    (original: (specification: Specification) => unknown) =>
    (specification: Specification): unknown => {
      const now = Date.now();
      for (const { properties } of Object.values(specification.components?.schemas ?? {})) {
        const id = properties?.id;
        if (id?.format === 'int64' && id.example !== undefined) id.example = now;
      }
      return original(specification);
    };
  return { statePlugins: { spec: { wrapActions: { updateJsonSpec: renew } } } };
}

/** The part of Swagger UI that keeps credentials. */
interface Authorization {
  readonly authActions: { readonly authorizeWithPersistOption: (credentials: object) => void };
}

/** The part of Swagger UI that stores credentials. */
interface Storage {
  readonly authSelectors: { readonly authorized: () => { readonly toJS: () => object } };
  readonly authActions: { readonly restoreAuthorization: (state: object) => void };
}

/** Keeps the token while the tab is open. Swagger UI itself would keep it in the browser for good. */
export function keepTokenInTab(): object {
  const key = 'authorized';
  const keep =
    (_: unknown, { authSelectors }: Storage) =>
    (): void =>
      sessionStorage.setItem(key, JSON.stringify(authSelectors.authorized().toJS()));
  return {
    statePlugins: { auth: { wrapActions: { persistAuthorizationIfNeeded: keep } } },
    afterLoad({ authActions }: Storage): void {
      // Version 1.2.0 kept it there.
      localStorage.removeItem(key);
      const kept = sessionStorage.getItem(key);
      if (kept !== null)
        authActions.restoreAuthorization({ authorized: JSON.parse(kept) as object });
    },
  };
}

/**
 * Signs in with the token of a link to `/docs#token=...`, and removes it from the address at once. A
 * browser sends no fragment to a server.
 */
export function signInByLink(): object {
  return {
    afterLoad({ authActions }: Authorization): void {
      const signIn = (): void => {
        const [, token] = /^#token=(.+)$/.exec(location.hash) ?? [];
        if (token === undefined) return;
        history.replaceState(null, '', location.pathname + location.search);
        const schema = { type: 'http', scheme: 'bearer' };
        const value = decodeURIComponent(token);
        authActions.authorizeWithPersistOption({ bearer: { name: 'bearer', schema, value } });
      };
      signIn();
      // A link to the page that is open already does not load it again.
      addEventListener('hashchange', signIn);
    },
  };
}

/**
 * Shows only the description of each documented failure, since all failures have one shape. Hides
 * the list of servers, which has one, and the links of answers, of which there are none. On a narrow
 * screen, the buttons over a request go on a line of their own.
 */
export const STYLE = `
  .swagger-ui .scheme-container .schemes .schemes-server-container { display: none; }
  .swagger-ui .scheme-container .schemes { justify-content: flex-end; }
  .swagger-ui .response-col_links { display: none; }
  .swagger-ui .opblock-section-header { flex-wrap: wrap; }
  .swagger-ui .responses-table tr.response:is([data-code^='3'], [data-code^='4'], [data-code^='5'], [data-code='default'])
    :is(.response-controls, .model-example) { display: none; }
`;
