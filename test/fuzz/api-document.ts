import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { FORMATS } from './formats.js';
import { Decimal } from './json-text.js';

interface HeaderObject {
  readonly required?: boolean;
  readonly schema?: SchemaObject;
}

interface MediaTypeObject {
  readonly schema: SchemaObject;
  /** By the code of the error, for an error. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

interface ResponseObject {
  readonly description?: string;
  readonly headers?: Readonly<Record<string, HeaderObject>>;
  readonly content?: Readonly<Record<string, MediaTypeObject>>;
}

interface Reference {
  /** `#/components/responses/` and a name. */
  readonly $ref: string;
}

/** The part of JSON Schema that a document uses. */
export interface SchemaObject {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly items?: SchemaObject;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly allOf?: readonly SchemaObject[];
  readonly oneOf?: readonly SchemaObject[];
  readonly additionalProperties?: boolean;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: SchemaObject;
}

export interface DocumentObject {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly responses?: Readonly<Record<string, ResponseObject>>;
    readonly schemas?: Readonly<Record<string, SchemaObject>>;
  };
}

interface OperationObject {
  readonly parameters?: readonly ParameterObject[];
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaTypeObject>> };
}

interface DocumentedResponse {
  /**
   * The names of the members of a JSON object; undefined for other types, and if any are allowed.
   */
  readonly members: readonly string[] | undefined;
  /** By media type without its parameters. */
  readonly bodies: ReadonlyMap<string, ValidateFunction>;
  readonly headers: ReadonlyMap<string, { isRequired: boolean; validate: ValidateFunction }>;
  /** The descriptions of errors, by their codes. */
  readonly codes: ReadonlyMap<number, string>;
}

/** The documentation of one method of one path. */
export interface DocumentedOperation {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly ParameterObject[];
  /** The media types of its body; none for an operation without one. */
  readonly mediaTypes: readonly string[];
  /** Of its body where that is JSON. */
  readonly bodySchema: SchemaObject | undefined;
  /** Whether the operation accepts a JSON body. */
  readonly takes: ValidateFunction | undefined;
  /** By status. */
  readonly responses: ReadonlyMap<number, DocumentedResponse>;
}

/** The items that an operation creates, each of which has its own path. */
export interface Collection {
  readonly create: DocumentedOperation;
  /** A page of them. */
  readonly list: DocumentedOperation | undefined;
  /** The path of one item, with parameters in braces. */
  readonly itemPath: string;
  /** The last parameters of the path, each a member of the created item. */
  readonly keys: readonly string[];
  /** The operations on one item, by method. */
  readonly item: ReadonlyMap<string, DocumentedOperation>;
  /** The members that a client writes and reads. */
  readonly members: readonly string[];
}

interface DocumentedPath {
  readonly pattern: RegExp;
  /** By method. */
  readonly operations: ReadonlyMap<string, DocumentedOperation>;
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/;

/** The OpenAPI document that the service serves. */
export class ApiDocument {
  /** Every documented operation. */
  readonly operations: readonly DocumentedOperation[];
  readonly collections: readonly Collection[];
  /** Keys of stored items, for members that refer to them. */
  readonly knownKeys = new Set<string>();
  private readonly paths: readonly DocumentedPath[];
  // Unknown formats are ignored.
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });

  constructor(private readonly document: DocumentObject) {
    for (const [name, { type, validate }] of Object.entries(FORMATS)) {
      if (type === 'string') this.ajv.addFormat(name, { type, validate });
      else this.ajv.addFormat(name, { type, validate });
    }
    // With doubles, 0.07 is no multiple of 0.01.
    this.ajv.removeKeyword('multipleOf').addKeyword({
      keyword: 'multipleOf',
      type: 'number',
      validate: (step: number, value: number) =>
        Decimal.of(value).dividedBy(Decimal.of(step)) !== undefined,
    });
    this.paths = Object.entries(document.paths)
      // A path without parameters takes precedence.
      .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
      .map(([path, operations]) => ({
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
        operations: new Map(
          Object.entries(operations).map(([method, operation]) => [
            method.toUpperCase(),
            this.drawOperation(method.toUpperCase(), path, operation),
          ]),
        ),
      }));
    this.operations = this.paths.flatMap(({ operations }) => [...operations.values()]);
    this.collections = this.operations.flatMap((one) => this.findCollection(one) ?? []);
  }

  /** Finds the operation of a request; HEAD is treated as GET. */
  operation(method: string, target: string): DocumentedOperation | undefined {
    return this.writePath(target)?.operations.get(method === 'HEAD' ? 'GET' : method);
  }

  /** The documented methods of a path, sorted; undefined for a path that is not documented. */
  methods(target: string): string[] | undefined {
    const path = this.writePath(target);
    return path && [...path.operations.keys()].sort();
  }

  private writePath(target: string): DocumentedPath | undefined {
    const [path = ''] = target.split('?');
    return this.paths.find(({ pattern }) => pattern.test(path));
  }

  static async load(url: URL): Promise<ApiDocument> {
    const response = await fetch(new URL('/openapi.json', url));
    return new ApiDocument((await response.json()) as DocumentObject);
  }

  /** Resolves a schema that is a reference or composed of several. */
  resolve(schema: SchemaObject): SchemaObject {
    if (schema.$ref !== undefined) {
      const named = this.document.components.schemas?.[schema.$ref.split('/').at(-1) ?? ''];
      if (named === undefined) throw new TypeError(`the document has no ${schema.$ref}`);
      return this.resolve(named);
    }
    const { allOf = [], ...own } = schema;
    return allOf.map((part) => this.resolve(part)).reduce(merge, own);
  }

  private drawOperation(
    method: string,
    path: string,
    { parameters = [], responses, requestBody }: OperationObject,
  ): DocumentedOperation {
    const content = requestBody?.content ?? {};
    const mediaTypes = Object.keys(content);
    const schema = content[mediaTypes.find((type) => JSON_TYPE.test(type)) ?? '']?.schema;
    return {
      method,
      path,
      parameters: parameters.map((one) => ({ ...one, schema: this.resolve(one.schema) })),
      mediaTypes,
      bodySchema: schema && this.resolve(schema),
      takes: schema && this.compile(schema),
      responses: new Map(
        Object.entries(responses).map(([status, response]) => [
          Number(status),
          this.responseOf(response),
        ]),
      ),
    };
  }

  private responseOf(response: ResponseObject | Reference): DocumentedResponse {
    if ('$ref' in response) {
      const shared = this.document.components.responses?.[response.$ref.split('/').at(-1) ?? ''];
      if (shared === undefined) throw new TypeError(`the document has no ${response.$ref}`);
      return this.responseOf(shared);
    }
    const { content = {}, headers = {}, description = '' } = response;
    const { 'application/json': json } = content;
    const { properties } = this.resolve(json?.schema ?? {});
    const words = [...description.matchAll(/^- (\d{5,6}): (.*)$/gm)];
    return {
      members: properties && Object.keys(properties),
      bodies: new Map(
        Object.entries(content).map(([type, { schema }]) => [
          type.replace(/;.*/, ''),
          this.compile(schema),
        ]),
      ),
      headers: new Map(
        Object.entries(headers).map(([name, { required = false, schema = {} }]) => [
          name.toLowerCase(),
          { isRequired: required, validate: this.compile(schema) },
        ]),
      ),
      codes: new Map(words.map(([, code, text = '']) => [Number(code), text])),
    };
  }

  /** Finds the collection to which a POST adds, if another operation has the path of its items. */
  private findCollection(create: DocumentedOperation): Collection | undefined {
    if (create.method !== 'POST' || create.bodySchema === undefined) return undefined;
    const { path } = create;
    const itemPath = Object.keys(this.document.paths).find(
      (one) => one.startsWith(`${path}/`) && /^(?:\/\{\w+\})+$/.test(one.slice(path.length)),
    );
    const item = new Map(
      this.operations.filter((one) => one.path === itemPath).map((one) => [one.method, one]),
    );
    const read = item.get('GET')?.responses.get(200);
    if (itemPath === undefined || read?.members === undefined) return undefined;
    const keys = [...itemPath.slice(path.length).matchAll(/\w+/g)].map(([name]) => name);
    const written = [create, ...item.values()].flatMap(({ bodySchema }) =>
      Object.keys(bodySchema?.properties ?? {}),
    );
    return {
      create,
      list: this.operations.find((one) => one.method === 'GET' && one.path === path),
      itemPath,
      keys,
      item,
      members: read.members.filter((name) => written.includes(name)),
    };
  }

  /** A schema of the document may refer to the document's components. */
  private compile(schema: object): ValidateFunction {
    return this.ajv.compile({ ...schema, components: this.document.components });
  }
}

function merge(one: SchemaObject, other: SchemaObject): SchemaObject {
  return {
    ...one,
    ...other,
    properties: { ...one.properties, ...other.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  };
}

/** Lists the types that a schema allows; none if it allows every type. */
export function listTypes({ type, oneOf = [] }: SchemaObject): readonly string[] {
  if (type === undefined) return oneOf.flatMap(listTypes);
  return typeof type === 'string' ? [type] : type;
}

export function getOperationName({ method, path }: DocumentedOperation): string {
  return `${method} ${path}`;
}
