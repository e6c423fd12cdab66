import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

interface HeaderObject {
  readonly required?: boolean;
  readonly schema?: object;
}

interface ResponseObject {
  readonly headers?: Readonly<Record<string, HeaderObject>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Reference {
  /** `#/components/responses/` and a name. */
  readonly $ref: string;
}

interface DocumentObject {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly responses?: Readonly<Record<string, ResponseObject>> };
}

interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
  readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
}

interface DocumentedResponse {
  /** By media type. */
  readonly bodies: ReadonlyMap<string, ValidateFunction>;
  readonly headers: ReadonlyMap<string, { isRequired: boolean; validate: ValidateFunction }>;
}

/** The OpenAPI document that the service serves: what it says of creating a plant. */
export class ApiDocument {
  readonly responses: ReadonlyMap<number, DocumentedResponse>;
  readonly isNewPlant: ValidateFunction;
  /** The documented methods of /plants, sorted. */
  readonly methods: readonly string[];
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(private readonly document: DocumentObject) {
    this.ajv.addFormat('int32', { type: 'number', validate: (value) => isInteger(value, 31) });
    this.ajv.addFormat('int64', { type: 'number', validate: (value) => isInteger(value, 63) });
    const { post, ...others } = document.paths['/plants'] ?? {};
    const schema = post?.requestBody.content['application/json']?.schema;
    if (post === undefined || schema === undefined) {
      throw new TypeError('the document does not describe POST /plants with a JSON body');
    }
    this.methods = ['POST', ...Object.keys(others).map((name) => name.toUpperCase())].sort();
    this.isNewPlant = this.compile(schema);
    this.responses = new Map(
      Object.entries(post.responses).map(([status, response]) => [
        Number(status),
        this.responseOf(response),
      ]),
    );
  }

  static async load(url: URL): Promise<ApiDocument> {
    const response = await fetch(new URL('/openapi.json', url));
    return new ApiDocument((await response.json()) as DocumentObject);
  }

  private responseOf(response: ResponseObject | Reference): DocumentedResponse {
    if ('$ref' in response) {
      const shared = this.document.components.responses?.[response.$ref.split('/').at(-1) ?? ''];
      if (shared === undefined) throw new TypeError(`the document has no ${response.$ref}`);
      return this.responseOf(shared);
    }
    const { content = {}, headers = {} } = response;
    const bodies = Object.entries(content).map(
      ([type, { schema }]) => [type, this.compile(schema)] as const,
    );
    const validators = Object.entries(headers).map(
      ([name, { required = false, schema = {} }]) =>
        [name.toLowerCase(), { isRequired: required, validate: this.compile(schema) }] as const,
    );
    return { bodies: new Map(bodies), headers: new Map(validators) };
  }

  /** A schema of the document may refer to the document's components. */
  private compile(schema: object): ValidateFunction {
    return this.ajv.compile({ ...schema, components: this.document.components });
  }
}

function isInteger(value: number, bits: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** bits) && value < 2 ** bits;
}
