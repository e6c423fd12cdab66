import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** The part of JSON Schema that a document uses. */
export type SchemaObject = Readonly<
  Partial<{
    $ref: string;
    type: string | readonly string[];
    format: string;
    enum: readonly unknown[];
    pattern: string;
    items: SchemaObject;
    properties: Readonly<Record<string, SchemaObject>>;
    required: readonly string[];
    allOf: readonly SchemaObject[];
    anyOf: readonly SchemaObject[];
    oneOf: readonly SchemaObject[];
  }> &
    Partial<Record<Bound, number>>
>;

type Bound = 'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems';

type Content = Readonly<Record<string, { readonly schema?: SchemaObject }>>;

interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: SchemaObject;
}

interface ResponseObject {
  readonly $ref?: string;
  readonly content?: Content;
}

interface OperationObject {
  readonly security?: readonly object[];
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface DocumentObject {
  readonly security?: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

/** One method of one path, as the document describes it. */
export interface Operation {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly parameters: readonly ParameterObject[];
  /** The schemas of its body by media type; none for an operation without a body. */
  readonly bodies: ReadonlyMap<string, SchemaObject>;
  /** The schemas of its answers by status and media type. */
  readonly answers: ReadonlyMap<number, ReadonlyMap<string, ValidateFunction>>;
}

/** The OpenAPI document that the service serves. */
export class ApiDocument {
  readonly operations: readonly Operation[];
  // Unknown formats are accepted.
  private readonly ajv = new Ajv2020({ strict: false, logger: false });
  /** The check of each schema, which many answers have in common. */
  private readonly checks = new Map<string, ValidateFunction>();

  constructor(private readonly document: DocumentObject) {
    for (const [name, bits] of [['int32', 31] as const, ['int64', 63] as const]) {
      const validate = (value: number): boolean =>
        Number.isInteger(value) && value >= -(2 ** bits) && value <= 2 ** bits;
      this.ajv.addFormat(name, { type: 'number', validate });
    }
    // In doubles, 0.07 is no multiple of 0.01.
    this.ajv.removeKeyword('multipleOf').addKeyword('multipleOf');
    this.operations = Object.entries(document.paths)
      // A path without parameters takes precedence.
      .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, one]) => this.read(method.toUpperCase(), path, one)),
      );
  }

  static async load(origin: URL): Promise<ApiDocument> {
    const response = await fetch(new URL('/openapi.json', origin));
    return new ApiDocument((await response.json()) as DocumentObject);
  }

  /** Finds the operation that a request asks for; HEAD is treated as GET. */
  find(method: string, target: string): Operation | undefined {
    const [path = ''] = target.split('?');
    const first = this.operations.find((one) => makePattern(one.path).test(path))?.path;
    const wanted = method === 'HEAD' ? 'GET' : method;
    return this.operations.find((one) => one.path === first && one.method === wanted);
  }

  /** Resolves a schema that is a reference or composed of several. */
  resolve(schema: SchemaObject): SchemaObject {
    const { $ref, allOf = [], ...own } = schema;
    const parts = [...($ref === undefined ? [] : [this.lookUp($ref) as SchemaObject]), ...allOf];
    return Object.assign({}, ...parts.map((part) => this.resolve(part)), own) as SchemaObject;
  }

  private read(method: string, path: string, operation: OperationObject): Operation {
    const { parameters = [], requestBody, responses } = operation;
    const { security = this.document.security ?? [] } = operation;
    const bodies = Object.entries(requestBody?.content ?? {});
    const answers = Object.entries(responses);
    return {
      method,
      path,
      isPublic: security.length === 0,
      parameters,
      bodies: new Map(bodies.map(([type, { schema = {} }]) => [type, schema])),
      answers: new Map(answers.map(([status, one]) => [Number(status), this.readContent(one)])),
    };
  }

  private readContent({ $ref, content = {} }: ResponseObject): Map<string, ValidateFunction> {
    if ($ref !== undefined) return this.readContent(this.lookUp($ref));
    const schemas = Object.entries(content);
    return new Map(
      schemas.map(([type, { schema = {} }]) => [type.replace(/;.*/, ''), this.compile(schema)]),
    );
  }

  /** Makes a check of a body, which must not have members that the schema does not name. */
  private compile(schema: SchemaObject): ValidateFunction {
    const key = JSON.stringify(schema);
    const { type, items } = this.resolve(schema);
    const checked =
      type === 'array' && items !== undefined
        ? { allOf: [schema], items: { allOf: [items], unevaluatedProperties: false } }
        : { allOf: [schema], unevaluatedProperties: false };
    const { components } = this.document;
    const validate = this.checks.get(key) ?? this.ajv.compile({ ...checked, components });
    this.checks.set(key, validate);
    return validate;
  }

  private lookUp(reference: string): object {
    const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(reference) ?? [];
    const found = this.document.components[kind]?.[name];
    if (found === undefined) throw new TypeError(`the document has no ${reference}`);
    return found;
  }
}

function makePattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
